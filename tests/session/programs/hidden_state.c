/* Which option each thread gets depends on the order of the calls: getopt keeps its place, where nothing is recorded. */
#include <pthread.h>
#include <unistd.h>

static char *arguments[] = {"program", "-a", "-b", NULL};
static int options[2];

static void *next(void *option) {
    *(int *)option = getopt(3, arguments, "ab");
    return 0;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, next, &options[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return options[0] > options[1];
}
