/* Races in what a library does that it loads when it runs. */
#include <dlfcn.h>
#include <pthread.h>

static int (*step)(int);
static int total;

static void *work(void *arg) {
    total = step(total); /* @a */
    return arg;
}

int main(void) {
    void *library = dlopen("./plugin.so", RTLD_NOW);
    if (!library)
        return 2;
    step = (int (*)(int))dlsym(library, "step");
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
