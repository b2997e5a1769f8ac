# How scripts/cluster runs one node: its command, pid file, log and states.
# Sourced by it, after which these globals are set: root, NDB_HOME, CLUSTER_DIR,
# run_dir, log_dir, ndb_dir, mgm_port, sql_port, connectstring, time_limit.
# shellcheck shell=bash disable=SC2154

all_nodes=(1 2 3 51 52)

say() { printf 'cluster: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

role() {
  case $1 in
    1) echo 'management server' ;;
    2 | 3) echo 'data node' ;;
    *) echo mysqld ;;
  esac
}

sql_port_of() { echo $((sql_port + $1 - 51)); }

address() {
  case $1 in
    1) echo "$connectstring" ;;
    2 | 3) echo '127.0.0.1 (any)' ;;
    *) echo "127.0.0.1:$(sql_port_of "$1")" ;;
  esac
}

# --- processes -------------------------------------------------------------

# Each node leads a session of its own, so that it outlives the calling shell and
# so that an angel and its data node are found together. run/N.pid holds the
# session's ID, run/N.command the command line. A process belongs to node N only
# if both agree: a recycled pid never does.

# launch ID COMMAND... starts a node that holds nothing of the caller's open.
launch() {
  local id=$1 fd deadline
  shift
  printf '%s\n' "$@" >"$run_dir/$id.command"
  (
    cd "$CLUSTER_DIR" || exit
    for fd in /proc/"$BASHPID"/fd/*; do
      fd=${fd##*/}
      # 255 is where bash reads the script from; it does not outlive the exec.
      if ((fd > 2 && fd != 255)); then exec {fd}>&-; fi
    done
    exec setsid "$@"
  ) </dev/null >>"$log_dir/$id.log" 2>&1 &
  echo $! >"$run_dir/$id.pid"
  disown # else this shell comments on the node's death
  # The child is still a shell for a moment. One that never becomes the node is
  # reported as dead by whoever waits for it.
  deadline=$((SECONDS + 3))
  until alive "$id" || ! kill -0 $! 2>/dev/null || ((SECONDS > deadline)); do sleep 0.05; done
}

# pids ID prints the processes of a node.
pids() {
  local wanted session stat state proc found
  [[ -r $run_dir/$1.pid && -r $run_dir/$1.command ]] || return 0
  read -r wanted <"$run_dir/$1.pid" || return 0
  for proc in /proc/[0-9]*; do
    { read -r stat <"$proc/stat"; } 2>/dev/null || continue
    read -r state _ _ session _ <<<"${stat##*) }"
    [[ $session == "$wanted" && $state != Z ]] || continue
    { found=$(tr '\0' '\n' <"$proc/cmdline"); } 2>/dev/null || continue
    [[ $found == "$(<"$run_dir/$1.command")" ]] || continue
    echo "${proc#/proc/}"
  done
}

alive() { [[ -n $(pids "$1") ]]; }

any_alive() {
  local id
  for id in "${all_nodes[@]}"; do if alive "$id"; then return 0; fi; done
  return 1
}

# main_pid ID prints the pid to look at: of a data node the youngest process,
# which is the node itself and not its angel.
main_pid() {
  local list
  list=$(pids "$1" | sort -n | tail -n 1)
  echo "${list:--}"
}

# signal_node SIGNAL ID signals every process of a node at once: an angel that
# saw its data node die would start it again.
signal_node() {
  local leader
  if alive "$2"; then
    read -r leader <"$run_dir/$2.pid"
    kill -s "$1" -- "-$leader" 2>/dev/null || true
  fi
}

kill_hard() {
  local deadline=$((SECONDS + 20))
  while alive "$1"; do
    signal_node KILL "$1"
    ((SECONDS < deadline)) || die "node $1 (pid $(main_pid "$1")) outlives SIGKILL"
    sleep 0.1
  done
}

# await_gone ID... gives nodes that were told to stop a minute, and kills them then.
await_gone() {
  local id deadline=$((SECONDS + 60))
  for id; do
    while alive "$id" && ((SECONDS < deadline)); do sleep 0.2; done
    if alive "$id"; then
      say "node $id ($(role "$id")) does not stop; killing it"
      kill_hard "$id"
    fi
  done
}

# --- starting --------------------------------------------------------------

# prepare writes the settings in one step: other commands read them without the lock.
prepare() {
  mkdir -p "$run_dir" "$log_dir" "$ndb_dir"
  printf '%s\n' "$NDB_HOME" "$mgm_port" "$sql_port" >"$CLUSTER_DIR/settings.new"
  mv "$CLUSTER_DIR/settings.new" "$CLUSTER_DIR/settings"
}

# write_config makes the loopback copy of deploy/config.ini.
write_config() {
  local line
  while IFS= read -r line; do
    case $line in
      HostName=*) line=HostName=127.0.0.1 ;;
      PortNumber=*) line=PortNumber=$mgm_port ;;
      DataDir=*) line=DataDir=$ndb_dir ;;
    esac
    printf '%s\n' "$line"
  done <"$root/deploy/config.ini" >"$CLUSTER_DIR/config.ini"
}

launch_node() {
  case $1 in
    1)
      write_config
      # Without a configuration cache, config.ini holds at every start.
      launch 1 "$NDB_HOME/bin/ndb_mgmd" --no-defaults --nodaemon --ndb-nodeid=1 --config-cache=0 \
        --bind-address=127.0.0.1 --config-file="$CLUSTER_DIR/config.ini"
      ;;
    2 | 3)
      launch "$1" "$NDB_HOME/bin/ndbmtd" --no-defaults --nodaemon --ndb-nodeid="$1" \
        --ndb-connectstring="$connectstring"
      ;;
    *)
      sql_server_command "$CLUSTER_DIR/mysqld-$1"
      # A socket's path is limited to 107 bytes; this one is relative to datadir.
      launch "$1" "${sql_server[@]}" --ndb-connectstring="$connectstring" --ndb-nodeid="$1" \
        --bind-address=127.0.0.1 --port="$(sql_port_of "$1")" --socket=mysqld.sock
      ;;
  esac
}

# sql_server_command DATADIR sets sql_server, the part of a mysqld's command that
# is the same when its directory is made and when it runs.
sql_server_command() {
  sql_server=("$NDB_HOME/bin/mysqld" --defaults-file="$root/deploy/my.cnf" --basedir="$NDB_HOME" --datadir="$1")
  # Where a build's compiled-in paths are not where it was unpacked.
  [[ ! -d $NDB_HOME/share/english ]] || sql_server+=(--lc-messages-dir="$NDB_HOME/share")
  [[ ! -d $NDB_HOME/share/charsets ]] || sql_server+=(--character-sets-dir="$NDB_HOME/share/charsets")
  ((EUID != 0)) || sql_server+=(--user=root)
}

# initialize_sql_nodes makes the data directories that are missing. One that was
# cut short is never taken for a whole one: it gets its name when it is finished.
initialize_sql_nodes() {
  local id dir pid pending=()
  for id in 51 52; do
    dir=$CLUSTER_DIR/mysqld-$id
    [[ ! -d $dir ]] || continue
    rm -rf "$dir.new"
    sql_server_command "$dir.new"
    timeout "$time_limit" "${sql_server[@]}" --initialize-insecure </dev/null >>"$log_dir/$id.log" 2>&1 &
    pending+=("$id $!")
  done
  for id in "${pending[@]}"; do
    read -r id pid <<<"$id"
    wait "$pid" || {
      show_log "$id"
      die "the data directory of node $id (mysqld) cannot be made"
    }
    mv "$CLUSTER_DIR/mysqld-$id.new" "$CLUSTER_DIR/mysqld-$id"
  done
}

# check_port ID fails if another program listens where the node is to listen.
check_port() {
  local port variable=CLUSTER_SQL_PORT
  case $1 in
    1) port=$mgm_port variable=CLUSTER_MGM_PORT ;;
    2 | 3) return 0 ;;
    *) port=$(sql_port_of "$1") ;;
  esac
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    if command -v ss >/dev/null; then ss -Hltnp "sport = :$port" >&2 || true; fi
    die "port $port of node $1 ($(role "$1")) is in use by another program; $variable chooses another"
  fi
}

# check_room ID... fails if the nodes to be started surely find too little memory
# or disk: a data node that runs short later on ends with a message that is hard
# to read. The figures are what the settings in deploy/ were seen to take.
check_room() {
  local id need_memory=0 need_disk=0 have
  for id; do
    case $id in
      2 | 3)
        ((need_memory += 1100))
        [[ -d $ndb_dir/ndb_${id}_fs ]] || ((need_disk += 700))
        ;;
      51 | 52)
        ((need_memory += 300))
        [[ -d $CLUSTER_DIR/mysqld-$id ]] || ((need_disk += 200))
        ;;
    esac
  done
  have=$(awk '/^(MemAvailable|SwapFree):/ { kb += $2 } END { print int(kb / 1024) }' /proc/meminfo)
  ((have >= need_memory)) || die "not enough memory: nodes $* need $need_memory MB, $have MB are available"
  have=$(df -Pm "$CLUSTER_DIR" | awk 'NR == 2 { print $4 }')
  ((have >= need_disk)) || die "not enough disk: nodes $* need $need_disk MB in $CLUSTER_DIR, $have MB are free"
}

# --- states ----------------------------------------------------------------

# mgm SECONDS COMMAND runs one command of the management client.
mgm() {
  timeout "$1" "$NDB_HOME/bin/ndb_mgm" --no-defaults --ndb-connectstring="$connectstring" \
    --connect-retries=1 -e "$2" </dev/null
}

# set_mysql_command sets mysql_command, to which a port and the rest are added.
set_mysql_command() {
  mysql_command=("$NDB_HOME/bin/mysql" --no-defaults --host=127.0.0.1 --user=root --connect-timeout=5)
  [[ ! -d $NDB_HOME/share/charsets ]] || mysql_command+=(--character-sets-dir="$NDB_HOME/share/charsets")
}

# probe_sql ID STATEMENTS prints the result, without column names.
probe_sql() {
  set_mysql_command
  timeout 30 "${mysql_command[@]}" --port="$(sql_port_of "$1")" --batch --skip-column-names <<<"$2" 2>"$run_dir/$1.error"
}

# sql_usable ID writes to the NDB table and reads it back. The transaction is
# rolled back and its key is none that a client would take: nobody sees it.
sql_usable() {
  local got
  got=$(probe_sql "$1" "USE ndbtest; SELECT id FROM employee_innodb LIMIT 0;
    START TRANSACTION; INSERT INTO employee (id) VALUES (-$1);
    SELECT id FROM employee WHERE id = -$1; ROLLBACK;") && [[ $got == "-$1" ]]
}

# load_schema ID runs schema.sql where this very text has not been run: CREATE
# TABLE IF NOT EXISTS locks all schemas of the cluster even if it does nothing.
load_schema() {
  local loaded=$run_dir/$1.schema
  [[ -r $loaded && $(<"$loaded") == "$(<"$root/deploy/schema.sql")" ]] && sql_usable "$1" && return
  probe_sql "$1" "$(<"$root/deploy/schema.sql")" >/dev/null && cp "$root/deploy/schema.sql" "$loaded"
}

usable_state() {
  case $1 in
    1) echo running ;;
    2 | 3) echo started ;;
    *) echo usable ;;
  esac
}

# node_state ID prints the state of a node in one or a few words.
node_state() {
  local answer
  if ! alive "$1"; then
    echo stopped
    return
  fi
  case $1 in
    1) if mgm 10 '1 status' >/dev/null 2>&1; then echo running; else echo 'not answering'; fi ;;
    2 | 3)
      # Node 2: starting (Last completed phase 4) (mysql-9.7.2 ndb-9.7.2)
      answer=$(mgm 10 "$1 status" 2>/dev/null | sed -n "s/^Node $1: //p" || true)
      answer=${answer%% (mysql-*}
      echo "${answer:-unknown to the management server}"
      ;;
    *) if sql_usable "$1"; then echo usable; else echo 'not usable'; fi ;;
  esac
}

is_usable() {
  case $1 in
    51 | 52) load_schema "$1" && sql_usable "$1" ;;
    *) [[ $(node_state "$1") == "$(usable_state "$1")" ]] ;;
  esac
}

# await_usable ID... waits until the nodes are usable. It fails with the logs of
# those that die on the way, or of the first that takes too long.
await_usable() {
  local id deadline=$((SECONDS + time_limit))
  for id; do
    until is_usable "$id"; do
      expect_alive "$@"
      ((SECONDS < deadline)) || {
        show_log "$id"
        die "node $id ($(role "$id")) is not usable after $time_limit s: $(node_state "$id")"
      }
      sleep 0.3
    done
  done
}

# expect_alive ID... fails if one of the nodes has died. Data nodes that start
# together die together: all the logs are shown, one of them has the cause.
expect_alive() {
  local id dead=()
  for id; do alive "$id" || dead+=("$id"); done
  ((${#dead[@]})) || return 0
  for id in "${dead[@]}"; do show_log "$id"; done
  die "node ${dead[*]} ($(role "${dead[0]}")) died"
}

# show_log ID prints the last lines of whatever the node and its clients wrote.
show_log() {
  local file
  for file in "$log_dir/$1.log" "$ndb_dir/ndb_$1_error.log" "$run_dir/$1.error"; do
    if [[ -s $file ]]; then
      printf '%s\n' "--- end of $file" >&2
      tail -n 20 -- "$file" | sed -e '/^ *$/d' -e 's/ *$//' >&2
    fi
  done
}
