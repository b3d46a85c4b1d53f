"""TCP ports for servers that tests and tools/stack start.

A port that the kernel would hand out by itself (bind to port 0, a client's own end) may be taken by anybody
between the moment when it was found free and the one when its server binds it, and a connect() to it while
nobody listens may meet itself. Ports are therefore chosen below the kernel's range, and each is held by a
lock for as long as the process that chose it lives: two stacks that start at once never choose the same
one."""
import fcntl, os, random, socket, stat

FIRST = 10000  # below it is what other software likes
_locks = []
_random = random.SystemRandom()


def _below():
    """Where the kernel's own range begins."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
            low = int(f.read().split()[0])
    except (OSError, ValueError, IndexError):
        low = 32768
    return low if low >= FIRST + 2000 else 32768


def _lock(port):
    """Whether the port is now held by this process."""
    folder = f"/tmp/tabella-ports-{os.geteuid()}"
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.lstat(folder).st_uid != os.geteuid() or not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise RuntimeError(f"{folder} belongs to another user")
    fd = os.open(f"{folder}/{port}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return False
    _locks.append(fd)
    return True


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port():
    """A port of 127.0.0.1 that is free and stays this process's to give."""
    below = _below()
    while True:
        port = _random.randrange(FIRST, below)
        if is_free(port) and _lock(port):
            return port
