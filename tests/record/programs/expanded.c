/* What gcc would expand in place, each in a thread that does it alone: copies of constant length, of literals, in the C
 * library's checked form, by gcc's own names, and comparisons. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

char to[16][64];
char from[64] = "abc";
int seen[4];

/* What is constant is still computed while it is compiled. */
_Static_assert(__builtin_strcmp("same", "same") == 0 && __builtin_memcmp("ab", "ac", 1) == 0, "");

static void *copies(void *bound)
{
    size_t length = 8 + (size_t)bound % 8;
    memcpy(to[0], from, 24);
    memset(to[1], 1, 24);
    memmove(to[2], from, 40);
    __builtin_memcpy(to[3], from, 24);
    __builtin_memset(to[4], 1, 40);
    __builtin_memmove(to[5], from, length);
    strcpy(to[6], "literal");
    strncpy(to[7], "literal", 8);
    strcat(to[8], "literal");
    stpcpy(to[9], "literal");
    sprintf(to[10], "%s", "literal");
    snprintf(to[11], 8, "literal");
    bzero(to[12], 24);
    __builtin_strcpy(to[13], "literal");
    mempcpy(to[14], from, 24);
    strncat(to[15], "literal", 7);
    return 0;
}

static void *comparisons(void *unused)
{
    seen[0] = !strcmp(from, "ab");
    seen[1] = !strncmp(from, "ab", 2);
    seen[2] = !memcmp(from, "ab", 2);
    seen[3] = !__builtin_memcmp(from, "abcdefgh", 8);
    return unused;
}

int main(void)
{
    pthread_t thread;
    printf("%p %p\n", (void *)to, (void *)from);
    fflush(stdout);
    pthread_create(&thread, 0, copies, (void *)1);
    pthread_join(thread, 0);
    pthread_create(&thread, 0, comparisons, 0);
    pthread_join(thread, 0);
    return 0;
}
