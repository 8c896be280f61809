"""A worker in Python, with nothing but the standard library.

    TENURE_URL=http://127.0.0.1:7878 python3 worker.py job

It leases work, renews each lease while the work goes on, and commits what came of it. The server may be killed at any time:
a question that was not answered is asked again, and what has been done already is answered as it was the first time. When the
lease or its window ends, the work is interrupted: another attempt may begin then.
"""

import json
import os
import signal
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
    """Asks until there is an answer, and notes when the question was sent that it answers. After `until` it gives up: the lease is
    another's by then."""
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    while True:
        request, asked = urllib.request.Request(URL + path, json.dumps(body).encode(), headers), time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer) | {"asked": asked}
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


class Ended(BaseException):
    """The lease or its window has ended, or the item was cancelled. It is no Exception: the work does not take it for its own."""


working = False


def interrupt(*_):
    if working:
        raise Ended("the lease or its window has ended, or the item was cancelled")


signal.signal(signal.SIGALRM, interrupt)


class Heartbeat(threading.Thread):
    """Renews a lease at a third of its length, until it is told to stop or the lease is lost."""

    def __init__(self, lease, asked):
        super().__init__(daemon=True)
        self.lease, self.over, self.lost = lease, threading.Event(), False
        # Both durations count from the request, on this clock. No renewal moves the end of the window.
        window = lease["window_left_ms"]
        self.window = float("inf") if window is None else asked + window / 1000
        self.lasts(asked, lease["lease_left_ms"])

    def lasts(self, asked, left_ms):
        """The lease ends a little earlier here than at the server."""
        self.ends = min(asked + left_ms / 1000 - LEASE * 0.1, self.window)

    def run(self):
        while not self.over.wait(min(LEASE / 3, max(self.ends - time.monotonic(), 0))):
            body = {"lease_token": self.lease["lease_token"], "lease_ms": int(LEASE * 1000)}
            try:
                if time.monotonic() >= self.ends:
                    raise Ended
                renewed = ask(f"/v1/executions/{self.lease['execution']}/renew", body, until=self.ends)
                self.lasts(renewed["asked"], renewed["lease_left_ms"])
                if renewed["cancel_requested"]:
                    raise Ended
            except (Refused, Ended):
                self.lost = True
                # The work is in the main thread, which a signal interrupts.
                signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
                return


def work(handle, kind):
    while True:
        # The same name until it was answered: an answer that got lost is given again.
        wanted = {"kinds": [kind], "worker": WORKER, "start": True, "wait_ms": 20_000,
                  "request_id": uuid.uuid4().hex, "lease_ms": int(LEASE * 1000)}
        answer = ask("/v1/leases", wanted)
        for lease in answer["leases"]:
            try:
                one(handle, lease, answer["asked"])
            except Ended as ended:
                print(ended, file=sys.stderr)


def one(handle, lease, asked):
    global working
    heartbeat = Heartbeat(lease, asked)
    heartbeat.start()
    token = {"lease_token": lease["lease_token"]}
    try:
        working = True
        if heartbeat.lost:
            interrupt()
        try:
            path, body = "commit", {"output": handle(lease)}
        except Exception as error:  # whatever it is, the attempt has failed and is tried again
            path, body = "fail", {"reason": f"{type(error).__name__}: {error}"}
        working = False
        if not heartbeat.lost:
            ask(f"/v1/executions/{lease['execution']}/{path}", token | body, until=heartbeat.ends)
    except Refused as refused:
        # Somebody else has it by now, or has committed it: nothing more is ours to write.
        print(refused, file=sys.stderr)
    finally:
        working = False
        heartbeat.over.set()


def greet(lease):
    """The work itself: yours goes here. It may run more than once; what it returns is committed once."""
    return {"hello": lease["payload"]}


if __name__ == "__main__":
    work(greet, sys.argv[1] if len(sys.argv) > 1 else "job")
