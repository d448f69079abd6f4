#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
static int (*raise_counter)(void);
static void *work(void *arg) {
    for (int i = 0; i < 10; i++)
        raise_counter();
    return arg;
}
int main(int argc, char **argv) {
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) { puts(dlerror()); abort(); }
        raise_counter = (int (*)(void))dlsym(library, "raise_counter");
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        if (raise_counter() != 21)
            abort();
        dlclose(library);
    }
    return 0;
}
