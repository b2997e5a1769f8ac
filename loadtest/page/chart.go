package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Size of a chart, in units of its view box: small enough that text can be read
// where it is as wide as a phone.
const (
	chartWidth  = 400.0
	wideWidth   = 800.0
	chartHeight = 250.0
	marginLeft  = 46.0
	marginRight = 14.0
	marginTop   = 24.0
	marginBase  = 38.0
)

// chart is lines over a horizontal axis. NaN values are gaps.
type chart struct {
	title   string // what is shown, for those who do not see it
	xLabel  string
	yLabel  string
	xLog    bool // by powers of two
	yLog    bool // by powers of ten
	xTicks  []float64
	xTick   func(float64) string
	yTick   func(float64) string
	yMax    float64 // at least so high; 0: as the values are
	lines   []line
	markers []marker
	points  bool // lines have marks that show their values
	wide    bool
}

// line is one road.
type line struct {
	name   string
	class  string // of style.css
	xs, ys []float64
	low    []float64 // of whiskers; nil: none
	high   []float64
	knee   int // index, -1: none
}

// marker is a vertical line with a text.
type marker struct {
	x    float64
	text string
}

// plane turns values into places.
type plane struct {
	width                  float64
	xMin, xMax, yMin, yMax float64
	xLog, yLog             bool
	ticks                  []float64 // of y
}

func (c *chart) plane() plane {
	p := plane{width: chartWidth, xLog: c.xLog, yLog: c.yLog, xMin: math.Inf(1), xMax: math.Inf(-1), yMin: math.Inf(1), yMax: c.yMax}
	if c.wide {
		p.width = wideWidth
	}
	for _, l := range c.lines {
		for i, x := range l.xs {
			p.xMin, p.xMax = min(p.xMin, x), max(p.xMax, x)
			y := l.ys[i]
			if math.IsNaN(y) || c.yLog && y <= 0 {
				continue
			}
			p.yMin, p.yMax = min(p.yMin, y), max(p.yMax, y)
			if l.high != nil {
				p.yMax = max(p.yMax, l.high[i])
			}
		}
	}
	for _, x := range c.xTicks {
		p.xMin, p.xMax = min(p.xMin, x), max(p.xMax, x)
	}
	if c.yLog {
		p.ticks = logTicks(p.yMin, p.yMax)
		p.yMin, p.yMax = p.ticks[0], p.ticks[len(p.ticks)-1]
		return p
	}
	p.ticks = linearTicks(p.yMax)
	p.yMin, p.yMax = 0, p.ticks[len(p.ticks)-1]
	return p
}

func (p *plane) x(v float64) float64 {
	from, to := p.xMin, p.xMax
	if p.xLog {
		v, from, to = math.Log2(v), math.Log2(from), math.Log2(to)
	}
	if to <= from {
		return marginLeft + (p.width-marginLeft-marginRight)/2
	}
	// Room on both sides, so that marks do not lie on the axis.
	const inset = 8
	return marginLeft + inset + (v-from)/(to-from)*(p.width-marginLeft-marginRight-2*inset)
}

func (p *plane) y(v float64) float64 {
	from, to := p.yMin, p.yMax
	if p.yLog {
		v, from, to = math.Log10(max(v, from)), math.Log10(from), math.Log10(to)
	}
	return chartHeight - marginBase - (v-from)/(to-from)*(chartHeight-marginTop-marginBase)
}

// svg draws the chart.
func (c *chart) svg(id string) template.HTML {
	p := c.plane()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-labelledby="%s-t">`, p.width, chartHeight, id)
	fmt.Fprintf(&b, `<title id="%s-t">%s</title>`, id, html.EscapeString(c.title))
	c.drawAxes(&b, &p)
	for _, m := range c.markers {
		x := p.x(m.x)
		fmt.Fprintf(&b, `<line class="event" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(x), at(x), at(marginTop), at(chartHeight-marginBase))
		fmt.Fprintf(&b, `<text class="event-text" x="%s" y="%s"%s>%s</text>`, at(x+4), at(marginTop+10), p.anchor(x), html.EscapeString(m.text))
	}
	for i := range c.lines {
		c.drawLine(&b, &p, &c.lines[i])
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// anchor keeps a text near the right edge inside.
func (p *plane) anchor(x float64) string {
	if x > p.width*0.7 {
		return ` text-anchor="end" dx="-8"`
	}
	return ""
}

func at(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func (c *chart) drawAxes(b *strings.Builder, p *plane) {
	right := p.width - marginRight
	base := chartHeight - marginBase
	for _, tick := range p.ticks {
		y := p.y(tick)
		fmt.Fprintf(b, `<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(marginLeft), at(right), at(y), at(y))
		fmt.Fprintf(b, `<text class="tick" x="%s" y="%s" text-anchor="end" dy=".32em">%s</text>`, at(marginLeft-6), at(y), c.yTick(tick))
	}
	for _, tick := range c.xTicks {
		fmt.Fprintf(b, `<text class="tick" x="%s" y="%s" text-anchor="middle">%s</text>`, at(p.x(tick)), at(base+15), c.xTick(tick))
	}
	fmt.Fprintf(b, `<line class="axis" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(marginLeft), at(right), at(base), at(base))
	fmt.Fprintf(b, `<text class="label" x="%s" y="%s" text-anchor="middle">%s</text>`, at((marginLeft+right)/2), at(chartHeight-5), html.EscapeString(c.xLabel))
	fmt.Fprintf(b, `<text class="label" x="%s" y="%s">%s</text>`, at(2), at(10), html.EscapeString(c.yLabel))
}

func (c *chart) drawLine(b *strings.Builder, p *plane, l *line) {
	var path strings.Builder
	pen := "M"
	for i, x := range l.xs {
		if y := l.ys[i]; math.IsNaN(y) || c.yLog && y <= 0 {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%s %s", pen, at(p.x(x)), at(p.y(l.ys[i])))
		pen = "L"
	}
	fmt.Fprintf(b, `<g class="%s">`, l.class)
	if l.high != nil {
		for i, x := range l.xs {
			if !math.IsNaN(l.ys[i]) && l.high[i] > l.low[i] {
				fmt.Fprintf(b, `<line class="whisker" x1="%[1]s" x2="%[1]s" y1="%[2]s" y2="%[3]s"/>`, at(p.x(x)), at(p.y(l.low[i])), at(p.y(l.high[i])))
			}
		}
	}
	fmt.Fprintf(b, `<path class="line" d="%s"/>`, path.String())
	if c.points {
		for i, x := range l.xs {
			if !math.IsNaN(l.ys[i]) {
				c.drawPoint(b, p.x(x), p.y(l.ys[i]), l, i)
			}
		}
	}
	b.WriteString(`</g>`)
}

// drawPoint draws a mark, whose form tells the road without its colour.
func (c *chart) drawPoint(b *strings.Builder, x, y float64, l *line, i int) {
	if i == l.knee {
		fmt.Fprintf(b, `<circle class="knee" cx="%s" cy="%s" r="9"/>`, at(x), at(y))
		// Above the mark, to the right of it at the axis, below it at the top.
		place, side := y-13, `text-anchor="middle"`
		if x < marginLeft+20 {
			side = `dx="-6"`
		}
		if place < marginTop {
			place = y + 21
		}
		fmt.Fprintf(b, `<text class="knee-text" x="%s" y="%s" %s>knee</text>`, at(x), at(place), side)
	}
	b.WriteString(`<g class="mark">`)
	b.WriteString(mark(l.class, x, y))
	fmt.Fprintf(b, `<circle class="hit" cx="%s" cy="%s" r="12"><title>%s, %s %s: %s</title></circle></g>`,
		at(x), at(y), html.EscapeString(l.name), c.xTick(l.xs[i]), html.EscapeString(c.xLabel), group(l.ys[i]))
}

// mark is the form of a road's marks.
func mark(class string, x, y float64) string {
	switch {
	case strings.Contains(class, "s1"):
		return fmt.Sprintf(`<rect class="dot" x="%s" y="%s" width="7" height="7"/>`, at(x-3.5), at(y-3.5))
	case strings.Contains(class, "s2"):
		return fmt.Sprintf(`<path class="dot" d="M%s %sl4.4 7.6h-8.8z"/>`, at(x), at(y-5))
	case strings.Contains(class, "s3"):
		return fmt.Sprintf(`<path class="dot" d="M%s %sl4.6 4.6-4.6 4.6-4.6-4.6z"/>`, at(x), at(y-4.6))
	default:
		return fmt.Sprintf(`<circle class="dot" cx="%s" cy="%s" r="3.8"/>`, at(x), at(y))
	}
}
