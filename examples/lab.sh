#!/bin/sh
# A whole lab on one machine: a server, an agent that offers this machine, and a run that goes through the queue.
set -eu

folder=$(mktemp -d)
trap 'kill $agent $server 2>/dev/null; wait; rm -rf "$folder"' EXIT
agent= server=

benchwright serve --store "$folder/lab.db" --port 0 --json > "$folder/server.json" 2> /dev/null &
server=$!
while ! grep -q address "$folder/server.json"; do sleep 0.1; done
BENCHWRIGHT_STORE=$(sed 's/.*"address": *"\([^"]*\)".*/\1/' "$folder/server.json")
export BENCHWRIGHT_STORE

benchwright agent --server "$BENCHWRIGHT_STORE" --agent-name desk --label team=vision \
    --folder "$folder/agent" --no-self-check 2> "$folder/agent.log" &
agent=$!
until grep -q "working for" "$folder/agent.log"; do sleep 0.1; done

benchwright run examples/bench_text.py::encode --lab 'team=vision' --rounds 2 --tag mine
benchwright lab show mine
benchwright lab list
