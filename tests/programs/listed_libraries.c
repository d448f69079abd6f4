/* One thread loads and unloads a library, another one looks at the names of what is loaded: ld.so holds its lock.
 *
 * Nothing may be witnessed or unknown, neither a race nor a use of a name that was freed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#define TIMES 40

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
    return info->dlpi_name[0] == '!'; /* @look */
}

static void *looks(void *unused)
{
    for (int i = 0; i < TIMES; i++)
        dl_iterate_phdr(look, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, looks, NULL);
    for (int i = 0; i < TIMES; i++) {
        void *library = dlopen("libresolv.so.2", RTLD_NOW);
        if (!library)
            return 1;
        dlclose(library);
    }
    pthread_join(thread, NULL);
    return 0;
}
