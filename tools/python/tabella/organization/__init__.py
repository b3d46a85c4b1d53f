"""An organization as one file (`tabella apply`) and as one archive (`tabella export`, `tabella import`)."""
