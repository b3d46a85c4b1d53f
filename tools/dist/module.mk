## make dist            a release under build/dist: sources, .deb, Python's packages, SBOM, notes, checksums
# decision 0344. One commit gives the same bytes: times are the commit's. The sources are the commit's,
# so what is built must be too; DIRTY=1 builds a tree with changes all the same.
.PHONY: dist
dist: build
	@tools/dist/release "$(DIST)" "$(B)" "$(COMMIT)" $(if $(DIRTY),--dirty)
	@$(MAKE) --no-print-directory -s dist-python DIST="$(DIST)" >/dev/null
	@cd "$(DIST)" && sha256sum -- tabella* > SHA256SUMS && ls -1
