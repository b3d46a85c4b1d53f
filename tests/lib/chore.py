"""A chore as a person brings it, for tests/jobs: files of a known truth, the command line on them, and
one line of what came of it: right (a share of the truth), sure (the mean confidence of what was said),
seconds."""
import csv, json, os, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Chore:
    """least: what `right` must reach; the exit code says whether it does."""

    def __init__(self, name, least):
        self.name, self.least = name, least
        self.folder = tempfile.TemporaryDirectory(prefix=f"tabella-{name}-")

    def file(self, name, head, rows, delimiter=","):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", newline="", encoding="utf-8") as f:
            csv.writer(f, delimiter=delimiter).writerows([head, *rows])
        return path

    def text(self, name, text, encoding="utf-8"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", newline="", encoding=encoding) as f:
            f.write(text)
        return path

    def run(self, files, *options):
        began = time.monotonic()
        done = subprocess.run(
            [ROOT + "/build/tabella", "run", *files, "--json", *options], capture_output=True, text=True
        )
        self.seconds = time.monotonic() - began
        if done.returncode != 0:
            sys.exit(f"{self.name}: {done.stderr}")
        return json.loads(done.stdout)

    def end(self, right, sure):
        self.folder.cleanup()
        sure = sum(sure) / len(sure) if sure else 0.0
        print(
            f"{self.name}: right {right:.3f} (at least {self.least}), sure {sure:.2f}, {self.seconds:.1f} s"
        )
        sys.exit(right < self.least)


def f1(found, truth):
    """Of pairs, or of whatever sets hold."""
    both = len(found & truth)
    return 2 * both / (len(found) + len(truth)) if found or truth else 1.0


def area(score, truth):
    """The area under the curve: how often, of a true one and one that is not, the true one scores more."""
    ranked = sorted(zip(score, truth))
    at, below, wins = 0, 0, 0.0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        true = sum(t for _, t in ranked[at:end])
        wins += true * (below + (end - at - true) / 2)
        below += end - at - true
        at = end
    return wins / max(1, below * (len(ranked) - below))
