/* The library of plugin_host.c. */
int step(int value) {
    return value + 1;
}
