// Not instrumented: loads a module that is, and calls it, as an interpreter does.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    void *module = dlopen(arguments[1], RTLD_NOW);
    void (*run)(void) = module ? (void (*)(void))dlsym(module, "run") : 0;
    if (!run) {
        puts(dlerror());
        return 1;
    }
    run();
    puts("ran");
    return 0;
}
