/* Does something else for each seed that a library makes, and for each amount of free memory; looks for a user, for whom
   the C library may load libraries of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static unsigned seeded, data;

static void *writer(void *unused)
{
    data = 1; /* @write */
    return unused;
}

int main(void)
{
    unsigned (*seed)(void);
    *(void **)&seed = dlsym(dlopen("./seeds.so", RTLD_NOW), "seed");
    if (getpwnam("nobody of this name"))
        return 3;
    for (int times = 0; times < 3; times++) {
        seeded = seed() + (unsigned)(sysconf(_SC_AVPHYS_PAGES) + get_avphys_pages());
        for (unsigned bit = seeded; bit; bit >>= 1)
            free(malloc(bit & 1 ? 16 : 4000));
    }
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    data = 2; /* @write_too */
    pthread_join(thread, NULL);
    return 0;
}
