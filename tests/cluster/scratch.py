"""Images of one static program each, as `ctr images import` reads them."""
import hashlib, io, json, tarfile


def image(path, name, program, user="65532:65532"):
    """Writes an image `name` whose only file is `program`, and whose command is that."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        info = tarfile.TarInfo(program.name)
        data = program.read_bytes()
        info.size, info.mode = len(data), 0o555
        tar.addfile(info, io.BytesIO(data))
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"], "User": user},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    text = json.dumps(config).encode()
    config_name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]
    with tarfile.open(path, "w") as tar:
        for file, body in (
            (config_name, text),
            (f"{digest}.tar", layer.getvalue()),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            info = tarfile.TarInfo(file)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return path
