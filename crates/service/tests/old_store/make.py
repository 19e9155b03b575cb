#!/usr/bin/env python3
"""Makes ctx.db and expected.json.gz: make.py CTX TESTKIT OUT, with the binaries of the version whose store is to be kept."""
import atexit, gzip, json, os, shutil, subprocess, sys, time, urllib.request

ctx, testkit, out = sys.argv[1:4]
work = "/tmp/ctx-store-v1"
shutil.rmtree(work, ignore_errors=True)
home, project = f"{work}/home", f"{work}/project"
os.makedirs(home, mode=0o700); os.makedirs(project)
LISTEN = "127.0.0.1:19631"
env = dict(os.environ, CTX_HOME=home, CTX_LISTEN=LISTEN, CTX_UPSTREAM="http://127.0.0.1:19630", NO_COLOR="1")
open(f"{home}/ctx.toml", "w").write('[context_editing]\nmode = "off"\n')
provider = subprocess.Popen([testkit, "fake-provider", "--port", "19630", "--strict", "--bind-thinking", "--port-file", f"{work}/port"])
atexit.register(provider.kill)
daemon = None

def up():
    global daemon
    daemon = subprocess.Popen([ctx, "up"], env=env, cwd=project, stdout=subprocess.DEVNULL)
    for _ in range(100):
        try:
            if subprocess.run([ctx, "status"], env=env, cwd=project, capture_output=True).returncode == 0: return
        except OSError: pass
        time.sleep(0.1)
    sys.exit("the daemon does not answer")

def down():
    daemon.terminate()
    daemon.wait()

def run(*words, ok=True):
    done = subprocess.run([ctx, *words], env=env, cwd=project, capture_output=True, text=True)
    if ok and done.returncode != 0: sys.exit(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout

SYSTEM = [{"type": "text", "text": "You are Claude Code, Anthropic's official CLI for Claude."},
          {"type": "text", "text": f"Working directory: {project}\nPlatform: linux\n", "cache_control": {"type": "ephemeral"}}]
TOOLS = [{"name": name, "description": f"{name} something.", "input_schema": {"type": "object", "properties": {
    "command": {"type": "string"}, "file_path": {"type": "string"}}}} for name in ("Bash", "Read", "Edit", "Grep")]
REMINDER = "<system-reminder>\nContents of CLAUDE.md: run the tests before you commit.\n</system-reminder>"

class Agent:
    def __init__(self, session, model="claude-opus-5-5", agent=None, messages=None):
        self.session, self.model, self.agent = session, model, agent
        self.messages = messages or []

    def send(self):
        messages = json.loads(json.dumps(self.messages))
        last = messages[-1]["content"][-1]
        last["cache_control"] = {"type": "ephemeral"}
        body = {"model": self.model, "max_tokens": 32000, "system": SYSTEM, "tools": TOOLS, "messages": messages,
                "thinking": {"type": "adaptive"},
                "metadata": {"user_id": json.dumps({"device_id": "0" * 64, "account_uuid": "", "session_id": self.session})}}
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "sk-ant-test",
                   "user-agent": "claude-cli/2.1.325 (external, cli)", "anthropic-beta": "claude-code-20250219",
                   "x-app": "cli", "X-Claude-Code-Session-Id": self.session, "x-claude-code-request-class": "main"}
        if self.agent:
            headers["x-claude-code-agent-id"] = self.agent
            headers["x-claude-code-request-class"] = "subagent"
        request = urllib.request.Request(f"http://{LISTEN}/v1/messages?beta=true", json.dumps(body).encode(), headers)
        try:
            answer = json.load(urllib.request.urlopen(request))
        except urllib.error.HTTPError as error:
            sys.exit(f"{self.session}: {error.code} {error.read().decode()}")
        time.sleep(0.05)
        self.messages.append({"role": "assistant", "content": answer["content"]})
        return answer

    def ask(self, text, reminder=False):
        """A prompt and its whole tool loop; the prompt scripts the answers."""
        content = [{"type": "text", "text": REMINDER}] if reminder else []
        self.messages.append({"role": "user", "content": content + [{"type": "text", "text": text}]})
        while True:
            answer = self.send()
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            if not calls: return
            results = [{"type": "tool_result", "tool_use_id": call["id"],
                        "content": f"{call['name']} of {json.dumps(call['input'])}\n" + "\n".join(
                            f"line {n}: {call['name'].lower()} found value {n * 7 % 101}" for n in range(120))} for call in calls]
            self.messages.append({"role": "user", "content": results})

def conv(agent):
    listed = json.loads(run("conversations", "--json"))["conversations"]
    return next(c["id"] for c in listed if c["session"] == agent.session and c.get("agent") == agent.agent)

def work_on(agent, turns=4):
    for n in range(1, turns + 1):
        agent.ask(f"task {n}: look at part {n}\nTHINK: about part {n}\nSAY: reading part {n}\nUSE_TOOL: Bash:cat part{n}.txt\nTHEN\n"
                  f"THINK: more of {n}\nUSE_TOOL: Read:{project}/src/part{n}.rs\nTHEN\nSAY: done with part {n}.", reminder=n == 1)

up()
ids = []

# Every operation, on conversations of their own kind.
edits = Agent("11111111-1111-4111-8111-111111111111"); work_on(edits, 8); c = conv(edits); ids.append(c)
def do(*words): run(*words[:1], "--conv", c, *words[1:])
do("delete", "t2"); edits.ask("SAY: after a delete")
do("edit", "t3#0", "--text", "look at part 3, please"); do("compact", "t4", "--text", "Part 4 was fine.")
do("drop-results", "t5"); do("summarize-results", "t6/1", "--text", "Only numbers."); do("offload", "t7", "--summary", "part 7")
edits.ask("SAY: after many edits")
do("retitle", "t1", "--title", "The first part"); do("pin", "t1"); do("add", "--text", "Be brief.", "--after", "t3")
do("move", "t8", "--after", "t1")
edits.ask("THINK: hm\nSAY: after more edits"); do("restore", "t7"); do("undo"); do("redo"); do("undo")
edits.ask("SAY: at the end")

raw = Agent("22222222-2222-4222-8222-222222222222", model="claude-sonnet-5-5"); work_on(raw, 4); c = conv(raw); ids.append(c)
do("edit", "t2#5", "--raw", json.dumps({"role": "assistant", "content": [{"type": "text", "text": "a raw answer"}]}))
do("combine", "t1", "t2"); do("split", "t3", "--each-step"); do("tag", "good"); do("branch", "trial"); do("delete", "t4")
raw.ask("SAY: on the trial branch"); do("checkout", "main"); raw.ask("SAY: on main"); do("delete", "t4"); do("rollback", "good")
do("delete", "tools/Grep")
raw.ask("SAY: after a rollback")

# Forks, rewinds, sub-agents, deferred edits, imports, a batch, a revert.
fork = Agent("33333333-3333-4333-8333-333333333333", messages=json.loads(json.dumps(edits.messages))); fork.ask("SAY: a fork"); ids.append(conv(fork))
rewound = Agent("44444444-4444-4444-8444-444444444444"); work_on(rewound, 4); c = conv(rewound); ids.append(c); do("delete", "t1")
rewound.messages = rewound.messages[:12]; rewound.ask("another way\nSAY: rewound")
do("delete", "t2", "--when", "cold")
sub = Agent("44444444-4444-4444-8444-444444444444", agent="a0123456789abcdef"); work_on(sub, 2); ids.append(conv(sub))
batch = Agent("55555555-5555-4555-8555-555555555555"); work_on(batch, 3); c = conv(batch); ids.append(c)
do("import", ids[0], "t3")
open(f"{work}/batch.jsonl", "w").write('{"op":"delete","ids":["t1/1"]}\n{"op":"drop-results","ids":["t2"]}\n'); do("batch", f"{work}/batch.jsonl")
do("delete", "t3")
head = json.loads(run("history", "--conv", c, "--json"))["commits"][0]["id"]; batch.ask("SAY: one"); do("revert", head); batch.ask("SAY: two")

# Automatic commits.
down()
open(f"{home}/ctx.toml", "w").write(
  '[context_editing]\nmode = "on"\ncompact_threshold_percent = 2\ntarget_percent = 1\npreserve_recent_turns = 1\n')
up()
auto = Agent("66666666-6666-4666-8666-666666666666"); work_on(auto, 16); ids.append(conv(auto))
plain = Agent("77777777-7777-4777-8777-777777777777"); work_on(plain, 1); ids.append(conv(plain))
time.sleep(1)
down(); open(f"{home}/ctx.toml", "w").write('[context_editing]\nmode = "off"\n'); up()

expected = {}
for c in ids:
    dump = subprocess.run([ctx, "compose", "--dump", "--conv", c], env=env, cwd=project, capture_output=True, check=True).stdout
    def js(*words): return json.loads(run(words[0], "--conv", c, *words[1:], "--json"))
    expected[c] = {"dump": dump.decode(), "list": js("list", "--steps"), "history": js("history"), "timeline": js("timeline"),
                   "waiting": js("waiting"), "stats": json.loads(run("stats", "--conv", c, "--by", "request", "--json"))}
down(); provider.kill()
shutil.rmtree(out, ignore_errors=True); os.makedirs(out)
subprocess.run(["sqlite3", f"{home}/ctx.db", f"VACUUM INTO '{out}/ctx.db'"], check=True)
with gzip.GzipFile(f"{out}/expected.json.gz", "w", mtime=0) as file:
    file.write(json.dumps(expected, indent=1).encode())
print(work, ids, {c: len(e["dump"]) for c, e in expected.items()})
