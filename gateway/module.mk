# The gateway: nginx's module, built against the source of Debian's own nginx (package nginx-dev), and the
# header that carries common/limits.lua.
NGINX_SOURCE = $(dir $(shell dpkg -L nginx-dev 2>/dev/null | grep 'conf_flags$$'))
NGINX_BUILD  = build/nginx
GATEWAY_SO   = $(B)/gateway/ngx_http_tab_module.so
GATEWAY_DEPS = $(wildcard gateway/module/*.[ch]) $(foreach f,http/bodies http/routes security/bounds security/entry security/identity security/secret,common/$f.c common/$f.h) common/base/base.h
EXTRA_BUILD += $(GATEWAY_SO)
GENH        += $(GEN)/common/redis/limits_lua.h

$(GEN)/common/redis/limits_lua.h: common/redis/limits.lua
	@mkdir -p $(@D) && { echo '/* made from common/redis/limits.lua */'; echo 'static const char tab_limits_lua[] ='; \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$$/\\n"/' $<; echo '    ;'; } > $@.new && mv $@.new $@

# configure takes 15 s: once for a version of nginx
$(NGINX_BUILD)/objs/Makefile: gateway/module/config | $(GEN)/common/redis/limits_lua.h $(GEN)/commit.h
	@echo "  configure nginx module" && rm -rf $(NGINX_BUILD) && mkdir -p $(NGINX_BUILD) && cp -r $(NGINX_SOURCE). $(NGINX_BUILD)
	@root=$$PWD; cd $(NGINX_BUILD) && bash -c '. ./conf_flags && TAB_ROOT='$$root' TAB_GEN='$$root/$(GEN)' \
	./configure "$${NGX_CONF_FLAGS[@]}" --with-cc-opt="-g -O2 -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2 -D_GNU_SOURCE" \
	--with-ld-opt="-Wl,-z,relro -Wl,-z,now -fPIC" --add-dynamic-module='$$root/gateway/module \
	> configure.log 2>&1 || { tail -20 $(NGINX_BUILD)/configure.log; exit 1; }

$(GATEWAY_SO): $(NGINX_BUILD)/objs/Makefile $(GATEWAY_DEPS) $(GEN)/common/redis/limits_lua.h $(GEN)/commit.h
	@echo "  nginx module" && { $(MAKE) -s -C $(NGINX_BUILD) -f objs/Makefile modules > $(NGINX_BUILD)/make.log 2>&1 \
	|| { grep -E 'error|warning' $(NGINX_BUILD)/make.log | head -30; exit 1; }; }
	@mkdir -p $(@D) && cp $(NGINX_BUILD)/objs/ngx_http_tab_module.so $@.new && mv $@.new $@ # a running nginx keeps the file it mapped

# the module's pure parts, tested outside nginx
$(B)/test/gateway-module-tests: $(B)/gateway/module/tab_ahead.o $(B)/gateway/module/tab_limits.o $(B)/gateway/module/tab_trace.o $(B)/gateway/module/tab_level.o
