/* Two threads write pointers into a full pipe, and wait for room; who reads them works on what each points to.
 *
 * Room comes for both at once: which of them writes first, the kernel decides.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct object {
    long number;
    char name[24];
};

static int ends[2];
static struct object objects[2];
static int written;

static void *writer(void *argument)
{
    struct object *object = argument;
    object->number = 10 + (object - objects); /* @fill */
    if (write(ends[1], &object, sizeof object) != sizeof object)
        perror("write");
    written = 1; /* @behind */
    return NULL;
}

int main(void)
{
    static char page[4096];
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
        return 1;
    long full = 0, got, left;
    while ((got = write(ends[1], page, sizeof page)) > 0)
        full += got;
    fcntl(ends[1], F_SETFL, 0);
    pthread_t writers[2];
    pthread_create(&writers[0], NULL, writer, &objects[0]);
    pthread_create(&writers[1], NULL, writer, &objects[1]);
    /* Both wait by now. */
    usleep(20000);
    for (left = full; left > 0; left -= got) {
        got = read(ends[0], page, sizeof page);
        if (got <= 0)
            return 1;
    }
    long sum = written; /* @looks */
    for (int count = 0; count < 2; count++) {
        struct object *object;
        if (read(ends[0], &object, sizeof object) != sizeof object)
            return 1;
        sum += object->number; /* @use */
    }
    pthread_join(writers[0], NULL);
    pthread_join(writers[1], NULL);
    printf("%s\n", sum >= 21 ? "both" : "lost");
    return 0;
}
