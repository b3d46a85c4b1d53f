# Loops that the compiler does several at a time: kernel values, distances (docs/decisions/0050).
CFLAGS_services_inference_engine_learn_kernel = -O3
