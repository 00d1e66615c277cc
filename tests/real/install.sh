#!/bin/sh
# Install the agent programs that the `real` tests start, one npm prefix each, pinned, nothing global.
#
#   tests/real/install.sh                  the four that CI drives: claude-code codex opencode gemini
#   tests/real/install.sh qwen copilot pi  only those named (`all`: every one)
#   tests/real/install.sh --list           what each name stands for; installs nothing
#
# Folder: $SKILLTRIAL_AGENTS_DIR, else ~/.cache/skilltrial/agents. A program whose pin is already there is left alone,
# so the folder can be cached whole; its key is this file. Needs npm and node 20 or newer.
set -eu

agents=${SKILLTRIAL_AGENTS_DIR:-$HOME/.cache/skilltrial/agents}
four="claude-code codex opencode gemini"
every="$four qwen copilot pi"

packages() {
  case $1 in
    claude-code) echo "@anthropic-ai/claude-code@2.1.332" ;;
    codex) echo "@openai/codex@0.171.0" ;;
    opencode) echo "opencode-ai@1.18.33 @vscode/ripgrep@1.18.0" ;; # its skill tool fetches rg from GitHub where PATH has none
    gemini) echo "@google/gemini-cli@0.61.0" ;;
    qwen) echo "@qwen-code/qwen-code@0.24.4 node@22.23.3" ;; # needs node 22, which npm brings along
    copilot) echo "@github/copilot@1.0.102" ;;
    pi) echo "@mariozechner/pi-coding-agent@0.73.1" ;;
    *) echo "install.sh: no program is called '$1'; known: $every" >&2; return 2 ;;
  esac
}

install_one() {
  wanted=$(packages "$1")
  if [ "$(cat "$agents/$1/pins" 2>/dev/null)" = "$wanted" ]; then
    echo "$1: $wanted is there"
    return
  fi
  fresh="$agents/.$1.$$"
  trap 'rm -rf "$fresh"' EXIT
  mkdir -p "$fresh"
  started=$(date +%s)
  # engine-strict off: claude-code declares node 22 for a binary that needs no node at all
  # shellcheck disable=SC2086 # the pins are words
  npm install --prefix "$fresh" --cache "$fresh/.npm" --no-audit --no-fund --no-update-notifier --loglevel error \
    --engine-strict=false $wanted >"$fresh.log" 2>&1 || { cat "$fresh.log" >&2; rm -f "$fresh.log"; return 1; }
  rm -rf "$fresh/.npm" "$fresh.log"
  for rg in "$fresh"/node_modules/@vscode/ripgrep-*/bin/rg; do
    [ ! -x "$rg" ] || ln -s "../${rg#"$fresh/node_modules/"}" "$fresh/node_modules/.bin/rg"
  done
  echo "$wanted" >"$fresh/pins"
  rm -rf "${agents:?}/$1"
  mv "$fresh" "$agents/$1"
  trap - EXIT
  echo "$1: $wanted in $(($(date +%s) - started)) s, $(du -sm "$agents/$1" | cut -f1) MB"
}

[ $# -gt 0 ] || set -- $four
case $1 in
  all) set -- $every ;;
  --list) for name in $every; do echo "$name: $(packages "$name")"; done; exit 0 ;;
esac
for name in "$@"; do packages "$name" >/dev/null; done
mkdir -p "$agents"
for name in "$@"; do install_one "$name"; done
