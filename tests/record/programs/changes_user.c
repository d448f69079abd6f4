/* A program that changes its user, as servers do, and is then recorded by somebody else's process. That stands still for a
   while, as where others have the processor, so that there is no room for what happens meanwhile. */
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned values[1024];

static void *other(void *unused)
{
    values[0]++;
    return unused;
}

int main(void)
{
    char command[128];
    snprintf(command, sizeof command, "(kill -STOP %d; sleep 0.3; kill -CONT %d) &", (int)getppid(), (int)getppid());
    if (system(command) != 0)
        return 2;
    /* Who may not change it stays who he is. */
    if (getuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        return 3;
    unsigned next = 1;
    for (int i = 0; i < 2000000; i++) {
        next = next * 1103515245 + 12345;
        values[next >> 16 & 1023] += next;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    return 0;
}
