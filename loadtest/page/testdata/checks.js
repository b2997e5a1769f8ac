(scheme, media) => {
  const wrong = [];
  const say = (text) => { if (wrong.length < 20) wrong.push(text); };
  const name = (e) => `${e.tagName.toLowerCase()}.${e.getAttribute('class') || ''} "${(e.textContent || '').trim().slice(0, 30)}"`;
  const shown = (e) => e.checkVisibility ? e.checkVisibility() : true;

  // Colours, as numbers from 0 to 1, laid over what is behind them.
  const parse = (text) => {
    const m = text.match(/[\d.]+/g).map(Number);
    return { rgb: m.slice(0, 3).map((v) => v / 255), a: m.length > 3 ? m[3] : 1 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (hi + 0.05) / (lo + 0.05);
  };
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = parse(getComputedStyle(at).backgroundColor);
      if (c.a === 1) return c.rgb;
    }
    return [1, 1, 1];
  };

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const widest = [...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll, .wide') && e.getBoundingClientRect().right > root.clientWidth + 1);
    say(`it is ${root.scrollWidth} wide and the screen ${root.clientWidth}: ${widest.slice(0, 3).map(name)}`);
  }
  const paper = luminance(behind(document.body));
  if (scheme === 'dark' && media === 'screen' ? paper > 0.05 : paper < 0.9) say(`the paper has a luminance of ${paper}`);

  for (const e of document.querySelectorAll('h1, h2, p, li, span, td, th, dt, dd, summary, caption, figcaption, svg text')) {
    if (!shown(e) || !e.textContent.trim() || e.matches('.visually-hidden')) continue;
    const style = getComputedStyle(e);
    const ink = parse(e.closest('svg') ? style.fill : style.color);
    const c = contrast(ink.rgb, behind(e));
    if (ink.a === 1 && c < 4.5) say(`${name(e)} has a contrast of ${c.toFixed(2)}`);
    const size = e.closest('svg') ? parseFloat(style.fontSize) * e.getScreenCTM().a : parseFloat(style.fontSize);
    if (media === 'screen' && size < 8.2) say(`${name(e)} is ${size.toFixed(1)} px high`);
  }
  for (const e of document.querySelectorAll('svg .line, svg .dot')) {
    if (!shown(e)) continue;
    const c = contrast(parse(getComputedStyle(e).color).rgb, behind(e));
    if (c < 3) say(`${name(e)} has a contrast of ${c.toFixed(2)}`);
  }

  const meets = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  for (const svg of document.querySelectorAll('figure > svg')) {
    // A wide chart may be scrolled.
    const box = (svg.closest('.wide') ? svg : svg.closest('figure')).getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map((e) => ({ e, box: e.getBoundingClientRect() }));
    texts.forEach((t, i) => {
      if (t.box.left < box.left - 2 || t.box.right > box.right + 2 || t.box.top < box.top - 2 || t.box.bottom > box.bottom + 2) say(`${svg.closest('figure').id}: ${name(t.e)} sticks out`);
      for (const other of texts.slice(i + 1)) {
        if (meets(t.box, other.box)) say(`${svg.closest('figure').id}: ${name(t.e)} lies on ${name(other.e)}`);
      }
    });
    if (svg.getAttribute('role') !== 'img' || !document.getElementById(svg.getAttribute('aria-labelledby'))?.textContent) say('a chart has no name');
    const rows = svg.closest('figure').querySelectorAll('details table tbody tr');
    if (rows.length === 0) say(`${svg.closest('figure').id} has no table behind it`);
    if (svg.querySelectorAll('path.line').length === 0) say(`${svg.closest('figure').id} has no line`);
    if (/NaN|Infinity/.test(svg.outerHTML)) say(`${svg.closest('figure').id} has a place that is no number`);
  }
  for (const e of document.querySelectorAll('summary')) {
    if (shown(e) && e.getBoundingClientRect().height < 24) say(`${name(e)} is too low to tap: ${e.getBoundingClientRect().height}`);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  if (new Set(ids).size !== ids.length) say('an id is there twice');
  if (!document.title || document.querySelectorAll('h1').length !== 1 || !root.lang) say('no title, heading or language');
  if (performance.getEntriesByType('resource').length > 0) say('it has loaded something');
  return wrong;
}
