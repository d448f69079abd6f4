/* Functions of libc that read and write the program's memory: the trace must explain each value that
 * the program sees afterwards, by accesses that stand here. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int print(char *to, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int len = vsnprintf(to, room, format, list);
    va_end(list);
    return len;
}

static void strings(void)
{
    char text[64], other[64];
    strcpy(text, "one two");
    assert(strlen(text) == 7 && strnlen(text, 3) == 3 && text[3] == ' ');
    assert(stpcpy(other, text) == other + 7 && other[4] == 't');
    assert(strcmp(text, other) == 0 && strncmp(text, "ono", 2) == 0 && strcasecmp(text, "ONE TWO") == 0);
    strcat(text, " three");
    strncat(text, "fourfive", 4);
    assert(text[12] == 'e' && text[16] == 'r' && text[17] == 0);
    assert(strchr(text, 't') == text + 4 && strrchr(text, 'e') == text + 12 && strstr(text, "three") == text + 8);
    strncpy(other, "ab", 8);
    assert(other[1] == 'b' && other[7] == 0);
    assert(memcmp(text, "one", 3) == 0 && memchr(text, 'w', 20) == text + 5);
    assert(strspn(text, "one") == 3 && strcspn(text, " ") == 3 && strpbrk(text, " t") == text + 3);
    char *copy = strdup(text), *part = strndup(text, 3);
    assert(copy[4] == 't' && part[2] == 'e' && part[3] == 0);
    free(copy);
    free(part);
    char *rest, *word = strtok_r(text, " ", &rest);
    assert(word[0] == 'o' && word[3] == 0);
    word = strtok_r(NULL, " ", &rest);
    assert(word[0] == 't' && rest[0] == 't');
    char *end;
    assert(strtol("12x", &end, 10) == 12 && *end == 'x' && atoi("7") == 7 && strtod("1.5", &end) == 1.5 && !*end);
    assert(mempcpy(other, "xyz", 3) == other + 3 && other[2] == 'z');
    bzero(other, 3);
    assert(other[2] == 0);
}

static void formats(void)
{
    char text[64];
    assert(sprintf(text, "%d %s %5.2f %.*s", 4, "four", 1.25, 2, "abc") == 15 && text[2] == 'f' && text[14] == 'b');
    assert(snprintf(text, 4, "%s", "longer") == 6 && text[2] == 'n' && text[3] == 0);
    assert(print(text, 60, "%1$d", 5) == 1 && text[0] == '5');
    assert(print(text, 60, "%d%d%d%d%d%s%f", 1, 2, 3, 4, 5, "six", 7.0) == 16 && text[5] == 's');
    char *made;
    assert(asprintf(&made, "<%s>", "x") == 3 && made[1] == 'x' && made[3] == 0);
    free(made);
    int number, seen;
    char word[8], letters[2];
    short small;
    double real;
    assert(sscanf("12 abc 3.5 7 xy", "%d %7s %lf %hd %2c%n", &number, word, &real, &small, letters, &seen) == 5);
    assert(number == 12 && word[2] == 'c' && real == 3.5 && small == 7 && letters[1] == 'y' && seen == 15);
    assert(sscanf("5 6", "%*d %d %d", &number, &seen) == 1 && number == 6);
}

static void files(void)
{
    int ends[2];
    char text[32] = "abcdefgh";
    assert(pipe(ends) == 0 && write(ends[1], text, 8) == 8);
    char first[3], second[8];
    struct iovec parts[2] = {{first, 3}, {second, 8}};
    assert(readv(ends[0], parts, 2) == 8 && first[2] == 'c' && second[4] == 'h');
    struct pollfd waiting = {ends[0], POLLIN, 0};
    assert(poll(&waiting, 1, 0) == 0 && waiting.revents == 0);
    FILE *stream = fdopen(ends[1], "w");
    assert(fputs("line one\nline two\n", stream) >= 0 && fprintf(stream, "%s\n", "three") == 6 && fflush(stream) == 0);
    assert(poll(&waiting, 1, 1000) == 1 && waiting.revents == POLLIN);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval none = {0, 0};
    assert(select(ends[0] + 1, &set, NULL, NULL, &none) == 1 && FD_ISSET(ends[0], &set));
    FILE *back = fdopen(ends[0], "r");
    assert(fgets(text, 32, back) == text && text[5] == 'o');
    char *line = NULL;
    size_t room = 0;
    assert(getline(&line, &room, back) == 9 && line[5] == 't' && room >= 9);
    free(line);
    assert(fread(text, 1, 4, back) == 4 && text[3] == 'e');
    fclose(stream);
    fclose(back);

    int pair[2];
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && send(pair[0], "hello", 5, 0) == 5);
    assert(recv(pair[1], text, 3, 0) == 3 && text[2] == 'l');
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    assert(recvmsg(pair[1], &message, 0) == 2 && first[1] == 'o');
    parts[0].iov_len = 2;
    assert(sendmsg(pair[1], &message, 0) == 10 && recvfrom(pair[0], text, 10, 0, NULL, NULL) == 10);
    int epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLOUT, {.u64 = 99}}, found;
    assert(epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) == 0);
    assert(epoll_wait(epoll, &found, 1, 1000) == 1 && found.data.u64 == 99);
    close(pair[0]);
    close(pair[1]);
    close(epoll);
}

static void system_calls(void)
{
    struct timespec now;
    struct timeval tv;
    struct stat state;
    struct tm parts;
    char text[64];
    time_t seconds;
    assert(clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 1000000);
    assert(gettimeofday(&tv, NULL) == 0 && tv.tv_sec >= now.tv_sec);
    assert(time(&seconds) == seconds);
    assert(gmtime_r(&seconds, &parts) && parts.tm_year > 100 && strftime(text, 64, "%Y", &parts) == 4 && text[0] == '2');
    assert(stat("/", &state) == 0 && S_ISDIR(state.st_mode) && fstat(0, &state) == 0);
    assert(getrandom(text, 16, 0) == 16);
    int sum = 0;
    for (int i = 0; i < 16; i++)
        sum += text[i];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert(sigismember(&set, SIGUSR1) == 1 && sum != 100000);
    assert(inet_pton(AF_INET, "1.2.3.4", text) == 1 && text[3] == 4);
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}

static void *everything(void *unused)
{
    strings();
    formats();
    files();
    system_calls();
    int numbers[200];
    for (int i = 0; i < 200; i++)
        numbers[i] = (i * 7919) % 200;
    qsort(numbers, 200, sizeof numbers[0], ascending);
    for (int i = 0; i < 200; i++)
        assert(numbers[i] == i);
    int wanted = 77, *found = bsearch(&wanted, numbers, 200, sizeof numbers[0], ascending);
    assert(found == numbers + 77);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, everything, NULL);
    pthread_create(&b, NULL, everything, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
