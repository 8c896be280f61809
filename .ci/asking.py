"""Runs a server, gives it something to do, and lets Schemathesis ask it. See `schemathesis` beside this file.

    asking.py TENURE      drives; everything else here is read by Schemathesis as its hooks

What is drawn at random is rarely the id of anything. So a part of the requests is given real names: of items, of executions that
are held, of a schedule, of a lifecycle. Which part, the drawn value itself decides: the same dice, the same requests.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

import schemathesis

# Long enough to find what a run finds at all, short enough for every push. Soaks raise it.
EXAMPLES = os.environ.get("TENURE_EXAMPLES", "8")
SEED = "1"
# `positive_data_acceptance` is left out: that a name is taken already, or that a kind has no such state, is not for a schema to say.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,negative_data_rejection," \
    "unsupported_method,missing_required_header,ignored_auth,use_after_free"
# It has no end, and a client that reads an answer to its end would never have one; the tests of the server read it.
ENDLESS = "/v1/log/stream"
# Whoever waits for work that does not come is answered when the wait is over, and a run has no time for that.
WAIT_MS_MAX = 20

# Of the operations, so many must have said yes to somebody: otherwise what is asked is refused at the door, and the names that are
# put in do not work any more. Some need words that nobody draws, such as a lifecycle's, and dice cancel what others would have needed,
# so most are not all.
REACHED_MIN = 0.5

REAL = json.loads(os.environ.get("TENURE_REAL", "{}"))


def real(name, drawn):
    """A real name in place of most drawn ones."""
    names = REAL.get(name, [])
    weight = sum(str(drawn).encode("utf-8", "surrogatepass"))
    return names[weight // 4 % len(names)] if names and weight % 4 else drawn


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    return {name: real(name, drawn) for name, drawn in (path_parameters or {}).items()} or path_parameters


@schemathesis.hook
def map_query(context, query):
    return patient(query)


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, list):
        return [map_body(context, one) for one in body]
    if not isinstance(body, dict):
        return body
    body = patient({name: map_body(context, value) if name != "payload" else value for name, value in body.items()})
    if isinstance(body.get("kind"), str):
        body["kind"] = real("kind", body["kind"])
    if isinstance(body.get("kinds"), list) and all(isinstance(kind, str) for kind in body["kinds"]):
        body["kinds"] = [real("kind", kind) for kind in body["kinds"]]
    if isinstance(body.get("session"), str):
        body["session"] = real("session", body["session"])
    if isinstance(body.get("branch"), str):
        body["branch"] = real("branch", body["branch"])
    return body


@schemathesis.hook
def before_call(context, case, kwargs):
    """Whoever names an execution that is held has its token; and nobody revokes the token that all of them show."""
    if (case.path_parameters or {}).get("id") == REAL.get("root"):
        case.path_parameters["id"] = "nobody"
    token = REAL.get("leases", {}).get((case.path_parameters or {}).get("exec"))
    if token and isinstance(case.body, dict) and isinstance(case.body.get("lease_token"), str):
        case.body["lease_token"] = token


def patient(fields):
    if isinstance(fields, dict) and isinstance(fields.get("wait_ms"), int) and WAIT_MS_MAX < fields["wait_ms"] <= 30_000:
        return {**fields, "wait_ms": WAIT_MS_MAX}
    return fields


class Server:
    def __init__(self, program, database):
        command = [program, "serve", "--db", database, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.token = None
        for line in self.process.stdout:
            if line.strip().startswith("listening"):
                self.url = line.split()[1]
            if "item list" in line:
                return
        raise SystemExit(f"the server ended: {self.process.wait()}")

    def post(self, path, body):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def get(self, path):
        request = urllib.request.Request(self.url + path, headers={"authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def claims(self):
        """Claims that are decomposed, their TruthBits, and validations that were not submitted."""
        ids = []
        for number in range(4):
            body = {"idempotency_key": str(number), "domain": "d", "text": f"The bridge is {number + 3} km long."}
            claim = self.post("/v0.1/claims", body)["claim_id"]
            self.get(f"/v1/items/{claim}?wait_ms=30000")
            truthbit = self.get(f"/v0.1/claims/{claim}/truthbits")["items"][0]["id"]
            validations = [self.post(f"/v0.1/truthbits/{truthbit}/validations", {})["id"] for _ in range(2)]
            ids += [claim, truthbit, *validations]
        return ids

    def furnish(self):
        """Something of every sort, so that there is something to be asked about."""
        root = self.post("/v1/tokens", {"name": "root", "role": "admin"})
        self.token = root["token"]
        spare = [self.post("/v1/tokens", {"name": "spare", "role": "worker"})["id"] for _ in range(4)]
        jobs = [self.post("/v1/jobs", {"payload": {"n": number}})["id"] for number in range(60)]
        for job in jobs[:10]:
            self.post(f"/v1/jobs/{job}/cancel", {"reason": "to be tried again"})
        run = self.post("/v1/items", {"kind": "run", "payload": {"document_id": "d"}, "key": "d"})["id"]
        lease = {"kinds": ["job"], "worker": "w1", "max": 40, "start": True, "lease_ms": 3_600_000}
        leases = self.post("/v1/leases", lease)["leases"]
        creates = {"kind": "job", "payload": {}}
        self.post("/v1/schedules", {"name": "both", "times": "0 3 * * *", "creates": creates})
        self.post("/v1/webhooks", {"name": "both", "url": "https://example.org/in", "secrets": ["env:NONE"]})
        todos, session = self.todos()
        return {
            "root": root["id"],
            "id": [*jobs[:10], *jobs[50:], *spare, run, *self.claims(), *todos],
            "session": [session],
            "branch": ["todo/1"],
            "exec": [lease["execution"] for lease in leases],
            "leases": {lease["execution"]: lease["lease_token"] for lease in leases},
            "name": ["both"],
            "kind": ["job", "run"],
            "event": ["cancel", "redrive"],
        }

    def todos(self):
        """Tasks that wait, one that is claimed and one that is done; and what proves the session that they were claimed in."""
        session = self.post("/v1/sessions", {})
        by = {"session": session["session"], "workspace": {"branch": "todo/1", "commit": "c", "tree": "t"}}
        gates = [["human:reads well"], [], [], [], [], []]
        ids = [self.post("/v1/todos", {"title": "task", "gates": gate})["todo_id"] for gate in gates]
        for claimed in ids[4:]:
            self.post(f"/v1/todos/{claimed}/claim", by)
        validated = {"gate": "validate", "output_sha256": "0" * 64, "passed": True}
        self.post(f"/v1/todos/{ids[5]}/done", {**by, "results": [validated]})
        return [*ids, session["session_id"]], session["session"]

    def reached(self):
        """What is refused at the door is not tested behind it: most operations must have said yes to somebody."""
        request = urllib.request.Request(f"{self.url}/metrics", headers={"authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            counted = re.findall(r'requests_total{route="(.*)",method="(.*)",status="(.*)"} ', answer.read().decode())
        good = {f"{method} {route}" for route, method, status in counted if status.startswith("2")}
        with urllib.request.urlopen(f"{self.url}/openapi.json", timeout=60) as answer:
            paths = json.load(answer)["paths"]
        operations = {f"{method.upper()} {path}" for path, calls in paths.items() for method in calls} - {f"GET {ENDLESS}"}
        never = sorted(operations - good)
        print(f"{len(operations & good)} of {len(operations)} operations said yes to somebody; never: {', '.join(never) or 'none'}")
        return len(operations & good) >= REACHED_MIN * len(operations)

    def asked(self, phases):
        names = self.furnish()
        command = [
            str(pathlib.Path(sys.executable).parent / "st"), "run", f"{self.url}/openapi.json", "--seed", SEED, "--no-color",
            "--header", f"Authorization: Bearer {self.token}", "--exclude-path", ENDLESS, "--request-timeout", "30",
            "--generation-database", "none", "--max-examples", EXAMPLES, "--phases", phases, "--checks", CHECKS,
            "--continue-on-failure", "--warnings", "off",
        ]
        hooks = {"SCHEMATHESIS_HOOKS": pathlib.Path(__file__).stem, "PYTHONPATH": str(pathlib.Path(__file__).parent)}
        # Beside the tools' own files there is nothing of ours in the folder that it runs in.
        with tempfile.TemporaryDirectory() as folder:
            asked = subprocess.run(command, env={**os.environ, **hooks, "TENURE_REAL": json.dumps(names)}, cwd=folder)
        reached = self.reached()
        self.process.terminate()
        ended = self.process.wait()
        if asked.returncode or ended or not reached:
            raise SystemExit(f"on {self.url}: Schemathesis ended with {asked.returncode}, the server with {ended}")


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        Server(program, f"sqlite:{folder}/t.db").asked("coverage,fuzzing")
    postgres = os.environ.get("TENURE_TEST_POSTGRES")
    if postgres:
        Server(program, f"{postgres}?schema=schemathesis_{os.getpid()}&connections=5").asked("fuzzing")


if __name__ == "__main__":
    main(*sys.argv[1:])
