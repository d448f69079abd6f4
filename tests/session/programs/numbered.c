/* Formats that number their arguments: what they print and scan is shared. */
#include <pthread.h>
#include <stdio.h>

static char printed[8] = "text";
static int scanned;

__attribute__((noinline)) static void prints(void)
{
    char text[32];
    snprintf(text, sizeof text, "%3$*1$d %4$s %2$f", 2, 1.5, 7, printed);
}

__attribute__((noinline)) static void scans(void)
{
    int other;
    sscanf("1 2", "%2$d %1$d", &scanned, &other);
}

static void *works(void *unused)
{
    prints();
    scans();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    printed[1] = 'x';
    scanned = 3;
    pthread_join(thread, 0);
    return 0;
}
