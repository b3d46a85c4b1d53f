## make dist         the Python client's wheel and sdist, in build/dist
## make test-client  the client's suite with a Python that has pandas and scikit-learn: CLIENT_PYTHON=PYTHON
DIST ?= build/dist
# Debian's own Python, for which setuptools and wheel are packaged (tools/install-deps test).
DIST_PYTHON ?= /usr/bin/python3
CLIENT_PYTHON ?= python3
.PHONY: dist test-client
# In a copy, since setuptools leaves folders behind; times are the commit's: one commit gives one wheel.
dist:
	@rm -rf build/python && mkdir -p $(DIST) build/python && cp -r tools/python/pyproject.toml \
	    tools/python/README.md tools/python/tabella build/python/ && rm -rf build/python/tabella/__pycache__ && \
	out=$$(cd $(DIST) && pwd) && cd build/python && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800) \
	    $(DIST_PYTHON) -W ignore -c \
	    "import setuptools.build_meta as b; b.build_sdist('$$out'); b.build_wheel('$$out')" >/dev/null && ls $$out
test-client: build
	@$(CLIENT_PYTHON) tests/suite/client --all
