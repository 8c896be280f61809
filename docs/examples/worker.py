"""A worker in Python, with nothing but the standard library.

    TENURE_URL=http://127.0.0.1:7878 python3 worker.py job

It leases work, renews each lease while the work goes on, and commits what came of it. The server may be killed at any time:
a question that was not answered is asked again, and what has been done already is answered as it was the first time.
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("TENURE_URL", "http://127.0.0.1:7878")
TOKEN = os.environ.get("TENURE_TOKEN")
# This process and no other: a worker that is started again is another owner.
WORKER = uuid.uuid4().hex
LEASE = 15.0


class Refused(Exception):
    """The server said no. Asking again will not help."""

    def __init__(self, problem):
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.code = problem["code"]


def ask(path, body, until=None):
    """Asks until there is an answer. After `until` it gives up: the lease is another's by then."""
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    while True:
        request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            if error.code != 503:
                raise Refused(problem) from None
        except (OSError, ValueError):
            # The server is away, or was killed while it answered.
            pass
        if until is not None and time.monotonic() > until:
            raise Refused({"code": "LEASE_LOST", "detail": "nobody answered until the lease was over"})
        time.sleep(0.2)


class Heartbeat(threading.Thread):
    """Renews a lease at a third of its length, until it is told to stop or the lease is lost."""

    def __init__(self, lease, asked):
        super().__init__(daemon=True)
        self.lease, self.over, self.lost = lease, threading.Event(), False
        # Counted from when it was asked for, and a little less: never longer than the server counts.
        self.ends = asked + LEASE * 0.9

    def run(self):
        while not self.over.wait(LEASE / 3):
            asked = time.monotonic()
            body = {"lease_token": self.lease["lease_token"], "lease_ms": int(LEASE * 1000)}
            try:
                renewed = ask(f"/v1/executions/{self.lease['execution']}/renew", body, until=self.ends)
            except Refused:
                self.lost = True
                return
            self.ends = asked + LEASE * 0.9
            self.lost = self.lost or renewed["cancel_requested"]


def work(handle, kind):
    while True:
        # The same name until it was answered: an answer that got lost is given again.
        name, asked = uuid.uuid4().hex, time.monotonic()
        wanted = {"kinds": [kind], "worker": WORKER, "start": True, "wait_ms": 20_000, "request_id": name,
                  "lease_ms": int(LEASE * 1000)}
        for lease in ask("/v1/leases", wanted)["leases"]:
            one(handle, lease, asked)


def one(handle, lease, asked):
    heartbeat = Heartbeat(lease, asked)
    heartbeat.start()
    token = {"lease_token": lease["lease_token"]}
    try:
        path, body = "commit", {"output": handle(lease)}
    except Exception as error:  # whatever it is, the attempt has failed and is tried again
        path, body = "fail", {"reason": f"{type(error).__name__}: {error}"}
    try:
        if not heartbeat.lost:
            ask(f"/v1/executions/{lease['execution']}/{path}", token | body, until=heartbeat.ends)
    except Refused as refused:
        # Somebody else has it by now, or has committed it: nothing more is ours to write.
        print(refused, file=sys.stderr)
    finally:
        heartbeat.over.set()


def greet(lease):
    """The work itself: yours goes here. It may run more than once; what it returns is committed once."""
    return {"hello": lease["payload"]}


if __name__ == "__main__":
    work(greet, sys.argv[1] if len(sys.argv) > 1 else "job")
