"""Watches NATS by use: nats-check publishes a message and reads it back."""
import os, subprocess, time

from stack_parts import BIN, say

EVERY_S = 2  # from one check's end to the next one's start
FROZEN_S = 15  # a check that takes longer has failed; it gives up by itself after 5 s
FAILURES = 4  # in a row, until the server is taken for stuck
PATIENCE_S = (30, 600)  # between two restarts: first, and at most


class Watch:
    """quiet -> checking -> quiet | failed n times: the server is stuck, killed, and left alone for a while

    A server that is stuck does not hear SIGTERM. After each restart the next one is twice as far away, up to
    ten minutes, and near again after as long without one: a fault that a restart does not cure never makes a
    loop."""

    def __init__(self, env):
        self.env = {**env, "TAB_HEALTH_PORT": "0"}
        self.check, self.began, self.next, self.failed = None, 0, time.monotonic() + EVERY_S, 0
        self.patience, self.not_before, self.restarted = PATIENCE_S[0], 0, None

    def due(self):
        """When the watch wants to look again."""
        return self.began + FROZEN_S if self.check else self.next

    def start(self):
        try:
            self.check = subprocess.Popen(
                [BIN / "nats-check"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.env,
            )
            self.began = time.monotonic()
        except OSError:  # not built, or no memory: says nothing about the server
            self.next = time.monotonic() + 10 * EVERY_S

    def ended(self):
        """The check's result: True, False, or None while it runs."""
        code = self.check.poll()
        if code is None and time.monotonic() < self.began + FROZEN_S:
            return None
        if code is None:
            self.check.kill()
            self.check.wait()
        self.check = None
        self.next = time.monotonic() + EVERY_S
        return code == 0

    def stuck(self, since):
        """Goes on with the watch; True once when the server, running since then, should be killed."""
        now = time.monotonic()
        if self.check is None:
            if now >= self.next:
                self.start()
            return False
        good = self.ended()
        if good is None:
            return False
        self.failed = 0 if good or now - since < FROZEN_S else self.failed + 1
        if self.restarted and good and now - self.restarted > PATIENCE_S[1]:
            self.patience, self.restarted = PATIENCE_S[0], None
        if self.failed < FAILURES or now < self.not_before:
            return False
        say(f"nats carries no message, {self.failed} checks in a row: it is started again")
        self.failed, self.restarted, self.not_before = 0, now, now + self.patience
        self.patience = min(2 * self.patience, PATIENCE_S[1])
        return True

    def stop(self):
        if self.check:
            self.check.kill()
            self.check.wait()
            self.check = None
