## make dist-python     the Python client's wheel and sdist, in build/dist
## make test-client     the client's suite; CLIENT_PYTHON names a Python with pandas and scikit-learn
DIST ?= build/dist
# Debian's own Python, for which setuptools and wheel are packaged (tools/install-deps test).
DIST_PYTHON ?= /usr/bin/python3
CLIENT_PYTHON ?= python3
.PHONY: dist-python test-client
# In a copy, since setuptools leaves folders behind. One commit gives the same bytes: times are the commit's,
# and the sdist is packed once more, for setuptools writes the clock into it.
dist-python:
	@umask 022; rm -rf build/python && mkdir -p $(DIST) build/python && cp -rL tools/python/pyproject.toml \
	    tools/python/README.md tools/python/tabella build/python/ && find build/python -name __pycache__ -prune -exec rm -rf {} + && \
	chmod -R u=rwX,go=rX build/python && out=$$(cd $(DIST) && pwd) && cd build/python && \
	export TZ=UTC SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800) && \
	$(DIST_PYTHON) -W ignore -c \
	    "import setuptools.build_meta as b; b.build_sdist('$$out'); b.build_wheel('$$out')" >/dev/null && \
	sdist=$$(cd $$out && ls tabella-[0-9]*.tar.gz) && mkdir again && tar -xzf $$out/$$sdist -C again && \
	tar --sort=name --mtime=@$$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner -C again -c $${sdist%.tar.gz} \
	    | gzip -9n > $$out/$$sdist && ls $$out
test-client: build
	@$(CLIENT_PYTHON) tests/suite/client --all
