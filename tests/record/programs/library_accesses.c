/* Calls of functions of libc, one at a time, and what each has to be recorded to read and write: no byte less, and none
 * more. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <pthread.h>
#include <pty.h>
#include <pwd.h>
#include <regex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* The number of the call that is made now. */
volatile int at;
static int calls;

#define CALL(expression)                    \
    do {                                    \
        at = ++calls;                       \
        result = (long)(expression);        \
        __asm__ volatile("" : "+r"(result)); \
        at = 0;                             \
        printf("%d %s\n", calls, #expression); \
    } while (0)

static void touches(char how, const void *start, size_t len) { printf("%d %c %zu %zu\n", calls, how, (size_t)start, len); }
static void R(const void *start, size_t len) { touches('R', start, len); }
static void W(const void *start, size_t len) { touches('W', start, len); }
static void reads_text(const char *text) { R(text, strlen(text) + 1); }
static void writes_text(const char *text) { W(text, strlen(text) + 1); }

static void writes_list(char *const *list)
{
    size_t count = 0;
    while (list[count])
        writes_text(list[count++]);
    W(list, (count + 1) * sizeof *list);
}

static void numbers(void)
{
    long result;
    int number;
    double real, other;
    float small, less;
    long double large, larger;
    char text[32], *end;
    CALL(frexp(3, &number));
    W(&number, 4);
    assert(number == 2);
    CALL(frexpf(3, &number));
    W(&number, 4);
    CALL(modf(3.5, &real));
    W(&real, 8);
    assert(real == 3);
    CALL(modff(3.5, &small));
    W(&small, 4);
    CALL(lgamma_r(-0.5, &number));
    W(&number, 4);
    assert(number == -1);
    CALL(lgammaf_r(-0.5, &number));
    W(&number, 4);
    CALL(remquo(7, 2, &number));
    W(&number, 4);
    CALL(remquo(7, 0, &number));
    CALL(remquof(7, 2, &number));
    W(&number, 4);
    CALL((sincos(1, &real, &other), 0));
    W(&real, 8);
    W(&other, 8);
    assert(real == sin(1) && other == cos(1));
    CALL((sincosf(1, &small, &less), 0));
    W(&small, 4);
    W(&less, 4);
    CALL(frexpl(3.0L, &number));
    W(&number, 4);
    assert(number == 2);
    CALL(modfl(3.75L, &large) * 100);
    W(&large, 10);
    assert(large == 3 && result == 75);
    CALL(lgammal_r(-0.5L, &number));
    W(&number, 4);
    CALL(remquol(7.0L, 2.0L, &number) * 10);
    W(&number, 4);
    assert(number % 8 == 4 && result == -10);
    CALL(remquol(7.0L, 0.0L, &number));
    CALL((sincosl(1.0L, &large, &larger), 0));
    W(&large, 10);
    W(&larger, 10);
    assert(large == sinl(1) && larger == cosl(1));
    strcpy(text, "12x");
    CALL(strtoimax(text, &end, 10));
    R(text, 3);
    W(&end, 8);
    assert(result == 12 && *end == 'x');
    CALL(strtoumax(text, NULL, 10));
    R(text, 3);
    strcpy(text, "12 and more");
    CALL(atoi(text));
    R(text, 3);
    CALL(atof(text));
    R(text, 3);

    struct drand48_data state = {0};
    CALL(drand48_r(&state, &real));
    R((char *)&state + 14, 2);
    R(&state, 6);
    W(&state, 6);
    W((char *)&state + 12, 12);
    W(&real, 8);
    CALL(srand48_r(7, &state));
    W(&state, 6);
    W((char *)&state + 12, 12);
    long next;
    CALL(lrand48_r(&state, &next));
    R((char *)&state + 12, 12);
    R(&state, 6);
    W(&state, 6);
    W(&next, 8);
    unsigned short own[3] = {1, 2, 3};
    CALL(jrand48_r(own, &state, &next));
    R((char *)&state + 12, 12);
    R(own, 6);
    W(own, 6);
    W(&next, 8);
    struct random_data generator = {0};
    static char numbers[64];
    int32_t found;
    initstate_r(5, numbers, sizeof numbers, &generator);
    CALL(random_r(&generator, &found));
    W(&found, 4);
}

static void dates(void)
{
    long result;
    struct tm date = {0};
    time_t second = 86400;
    char text[64], *rest;
    gmtime_r(&second, &date);
    CALL(asctime_r(&date, text));
    R(&date, 28);
    W(text, 26);
    CALL(ctime_r(&second, text));
    R(&second, 8);
    W(text, 26);
    CALL(timegm(&date));
    R(&date, 24);
    W(&date, 36);
    W((char *)&date + 40, 16);
    assert(result == 86400);
    strcpy(text, "17:31 and");
    date.tm_hour = date.tm_min = 0;
    CALL(strptime(text, "%H:%M", &date));
    reads_text("%H:%M");
    R(text, 5);
    W(&date.tm_min, 4);
    W(&date.tm_hour, 4);
    struct itimerval interval, zero = {0};
    CALL(getitimer(ITIMER_PROF, &interval));
    W(&interval, sizeof interval);
    CALL(setitimer(ITIMER_PROF, &zero, &interval));
    R(&zero, sizeof zero);
    W(&interval, sizeof interval);
    CALL(setitimer(ITIMER_PROF, &zero, NULL));
    R(&zero, sizeof zero);
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {1000, 0}}, before;
    CALL(timerfd_settime(file, 0, &soon, &before));
    R(&soon, sizeof soon);
    W(&before, sizeof before);
    CALL(timerfd_gettime(file, &before));
    W(&before, sizeof before);
    assert(before.it_value.tv_sec > 900);
    close(file);
}

static void users(void)
{
    long result;
    char room[4096];
    struct passwd user, *is_user;
    struct group group, *is_group;
    uid_t number = getuid(), three[3];
    CALL(getpwuid_r(0, &user, room, sizeof room, &is_user));
    assert(result == 0 && is_user == &user);
    W(&is_user, 8);
    W(&user, sizeof user);
    for (char *const *text = (char *[]){user.pw_name, user.pw_passwd, user.pw_gecos, user.pw_dir, user.pw_shell, 0}; *text; text++)
        writes_text(*text);
    CALL(getpwnam_r("root", &user, room, sizeof room, &is_user));
    reads_text("root");
    W(&is_user, 8);
    W(&user, sizeof user);
    for (char *const *text = (char *[]){user.pw_name, user.pw_passwd, user.pw_gecos, user.pw_dir, user.pw_shell, 0}; *text; text++)
        writes_text(*text);
    CALL(getpwnam_r("nobody-of-that-name", &user, room, sizeof room, &is_user));
    reads_text("nobody-of-that-name");
    W(&is_user, 8);
    assert(!is_user);
    CALL(getpwuid_r(0, &user, room, 4, &is_user));
    assert(result == ERANGE);
    CALL(getgrgid_r(0, &group, room, sizeof room, &is_group));
    W(&is_group, 8);
    W(&group, 20);
    W(&group.gr_mem, 8);
    writes_text(group.gr_name);
    writes_text(group.gr_passwd);
    writes_list(group.gr_mem);
    CALL(getgrnam_r("root", &group, room, sizeof room, &is_group));
    reads_text("root");
    W(&is_group, 8);
    W(&group, 20);
    W(&group.gr_mem, 8);
    writes_text(group.gr_name);
    writes_text(group.gr_passwd);
    writes_list(group.gr_mem);
    gid_t groups[70000];
    int count = 3;
    CALL(getgrouplist("root", 17, groups, &count));
    reads_text("root");
    R(&count, 4);
    W(&count, 4);
    W(groups, result * 4);
    assert(result == count && groups[0] == 17);
    count = 0;
    CALL(getgrouplist("root", 17, groups, &count));
    reads_text("root");
    R(&count, 4);
    W(&count, 4);
    assert(result == -1);
    CALL(getgroups(70000, groups));
    W(groups, result * 4);
    CALL(getgroups(0, groups));
    CALL(getresuid(&three[0], &three[1], &three[2]));
    W(three, 12);
    assert(three[0] == number);
    CALL(getresgid(&three[0], &three[1], &three[2]));
    W(three, 12);
}

static void addresses_of(struct addrinfo *list)
{
    for (; list; list = list->ai_next) {
        W(list, 20);
        W(&list->ai_addr, 24);
        W(list->ai_addr, list->ai_addrlen);
        if (list->ai_canonname)
            writes_text(list->ai_canonname);
    }
}

static void hosts(void)
{
    long result;
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_CANONNAME, .ai_socktype = SOCK_STREAM}, *list = NULL;
    CALL(getaddrinfo("127.0.0.1", "80", &hints, &list));
    assert(result == 0);
    R(&hints, 16);
    reads_text("127.0.0.1");
    reads_text("80");
    W(&list, 8);
    addresses_of(list);
    assert(((struct sockaddr_in *)list->ai_addr)->sin_port == htons(80) && !strcmp(list->ai_canonname, "127.0.0.1"));
    freeaddrinfo(list);
    hints.ai_flags = AI_NUMERICHOST;
    CALL(getaddrinfo("::1", NULL, &hints, &list));
    assert(result == 0);
    R(&hints, 16);
    reads_text("::1");
    W(&list, 8);
    addresses_of(list);
    freeaddrinfo(list);
    hints.ai_flags = 0x4000;
    CALL(getaddrinfo("::1", NULL, &hints, &list));
    R(&hints, 4);
    assert(result == EAI_BADFLAGS);

    struct sockaddr_in four = {AF_INET, htons(80), {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 six = {AF_INET6, htons(80), 7, IN6ADDR_LOOPBACK_INIT};
    char host[128], service[32];
    CALL(getnameinfo((struct sockaddr *)&four, sizeof four, host, 128, service, 32, NI_NUMERICHOST | NI_NUMERICSERV));
    R(&four, 8);
    writes_text(host);
    writes_text(service);
    assert(result == 0 && !strcmp(host, "127.0.0.1") && !strcmp(service, "80"));
    CALL(getnameinfo((struct sockaddr *)&six, sizeof six, host, 128, service, 0, NI_NUMERICHOST | NI_NUMERICSERV));
    R(&six, 2);
    R(&six.sin6_addr, 16);
    writes_text(host);
    CALL(getnameinfo((struct sockaddr *)&six, sizeof six, host, 2, service, 32, NI_NUMERICHOST | NI_NUMERICSERV));
    R(&six, 4);
    R(&six.sin6_addr, 16);
    assert(result == EAI_OVERFLOW);

    char room[1024];
    struct hostent found, *is_found;
    int why = 0;
    CALL(gethostbyname_r("127.0.0.1", &found, room, sizeof room, &is_found, &why));
    assert(result == 0 && is_found == &found);
    reads_text("127.0.0.1");
    W(&is_found, 8);
    W(&found, 32);
    writes_text(found.h_name);
    writes_list(found.h_aliases);
    W(found.h_addr_list, 16);
    W(found.h_addr_list[0], 4);
    CALL(gethostbyname2_r("::1", AF_INET6, &found, room, sizeof room, &is_found, &why));
    assert(result == 0 && is_found == &found);
    reads_text("::1");
    W(&is_found, 8);
    W(&found, 32);
    writes_text(found.h_name);
    writes_list(found.h_aliases);
    W(found.h_addr_list, 16);
    W(found.h_addr_list[0], 16);
    CALL(gethostbyaddr_r(&four.sin_addr, 4, AF_INET, &found, room, sizeof room, &is_found, &why));
    R(&four.sin_addr, 4);
    if (result == 0)
        W(&is_found, 8);
    if (result == 0 && is_found) {
        W(&found, 32);
        writes_text(found.h_name);
        writes_list(found.h_aliases);
        W(found.h_addr_list, 16);
        W(found.h_addr_list[0], 4);
    } else if (result == 0) {
        W(&why, 4);
    }
    struct protoent protocol, *is_protocol;
    CALL(getprotobyname_r("tcp", &protocol, room, sizeof room, &is_protocol));
    reads_text("tcp");
    if (result == 0)
        W(&is_protocol, 8);
    if (result == 0 && is_protocol) {
        W(&protocol, 20);
        writes_text(protocol.p_name);
        writes_list(protocol.p_aliases);
    }
    struct servent known, *is_known;
    CALL(getservbyname_r("http", "tcp", &known, room, sizeof room, &is_known));
    reads_text("http");
    reads_text("tcp");
    if (result == 0)
        W(&is_known, 8);
    if (result == 0 && is_known) {
        W(&known, 20);
        W(&known.s_proto, 8);
        writes_text(known.s_name);
        writes_text(known.s_proto);
        writes_list(known.s_aliases);
    }
    struct ifaddrs *interfaces, *each;
    CALL(getifaddrs(&interfaces));
    if (result == 0) {
        W(&interfaces, 8);
        for (each = interfaces; each; each = each->ifa_next) {
            W(each, 20);
            W(&each->ifa_addr, 32);
            writes_text(each->ifa_name);
            for (int i = 0; i < 3; i++) {
                struct sockaddr *one = i == 0 ? each->ifa_addr : i == 1 ? each->ifa_netmask : each->ifa_broadaddr;
                if (one)
                    W(one, one->sa_family == AF_INET ? 16 : one->sa_family == AF_INET6 ? 28 : one->sa_family == AF_PACKET ? 20 : 2);
            }
        }
        freeifaddrs(interfaces);
    }
    char name[IF_NAMESIZE] = "";
    CALL(if_indextoname(1, name));
    if (result)
        writes_text(name);
    CALL(if_indextoname(1000000, name));
    struct in_addr address;
    strcpy(room, "1.2.3.4 more");
    CALL(inet_aton(room, &address));
    R(room, 8);
    W(&address, 4);
    assert(result == 1);
    strcpy(room, "1.2.3.x");
    CALL(inet_aton(room, &address));
    assert(result == 0);
}

static void wide(void)
{
    long result;
    wchar_t text[32], other[32], *rest;
    CALL(wcscpy(text, L"one two"));
    R(L"one two", 32);
    W(text, 32);
    CALL(wcslen(text));
    R(text, 32);
    CALL(wcsnlen(text, 3));
    R(text, 12);
    CALL(wcsncpy(other, text, 5));
    R(text, 20);
    W(other, 20);
    CALL(wcsncpy(other, L"ab", 5));
    R(L"ab", 12);
    W(other, 20);
    CALL(wcscat(other, L"cd"));
    R(other, 12);
    R(L"cd", 12);
    W(other + 2, 12);
    CALL(wcsncat(other, L"efg", 2));
    R(other, 20);
    R(L"efg", 8);
    W(other + 4, 12);
    assert(!wcscmp(other, L"abcdef"));
    CALL(wcscmp(text, other));
    R(text, 4);
    R(other, 4);
    CALL(wcsncmp(text, text + 16, 0));
    CALL(wcschr(text, L'e'));
    R(text, 12);
    CALL(wcsrchr(text, L'e'));
    R(text, 32);
    CALL(wcsstr(text, L"tw"));
    R(L"tw", 12);
    R(text, 24);
    CALL(wcsspn(text, L"one"));
    R(text, 16);
    R(L"one", 16);
    CALL(wcspbrk(text, L"t "));
    R(text, 16);
    R(L"t ", 12);
    CALL(wmemcpy(other, text, 3));
    R(text, 12);
    W(other, 12);
    CALL(wmemmove(other, text, 3));
    R(text, 12);
    W(other, 12);
    CALL(wmempcpy(other, text, 3));
    R(text, 12);
    W(other, 12);
    assert((wchar_t *)result == other + 3);
    CALL(wmemset(other, L'x', 3));
    W(other, 12);
    CALL(wmemcmp(text, other, 3));
    R(text, 4);
    R(other, 4);
    CALL(wmemchr(text, L'e', 20));
    R(text, 12);
    CALL(wcstok(text, L" ", &rest));
    R(text, 16);
    R(L" ", 8);
    W(text + 3, 4);
    W(&rest, 8);
    CALL(wcstok(NULL, L" ", &rest));
    R(text + 4, 16);
    R(L" ", 8);
    R(&rest, 8);
    W(&rest, 8);
    assert(rest == NULL);
    CALL(wcstok(NULL, L" ", &rest));
    R(L" ", 8);
    R(&rest, 8);
    CALL(wcstol(L"12x", &rest, 10));
    R(L"12x", 12);
    W(&rest, 8);
    CALL(wcsdup(L"four"));
    R(L"four", 20);
    W((void *)result, 20);
    free((void *)result);
    char part[32], *place;
    strcpy(part, "one,two");
    CALL(strtok_r(part, ",", &place));
    R(part, 4);
    reads_text(",");
    W(part + 3, 1);
    W(&place, 8);
    char *at_first = strcpy(part, "one,two");
    place = at_first;
    CALL(strsep(&place, ","));
    R(part, 4);
    R(&place, 8);
    reads_text(",");
    W(part + 3, 1);
    W(&place, 8);
    CALL(strcasestr(part, "E"));
    R(part, 3);
    reads_text("E");
}

static void encodings(void)
{
    long result;
    assert(setlocale(LC_ALL, "C.UTF-8"));
    /* An o with dots has two bytes, a euro three. */
    char text[32] = "a\303\266b", back[32], *from;
    wchar_t letters[32] = L"xxxxxxxx", *of;
    mbstate_t state = {0};
    CALL(mbstowcs(letters, text, 32));
    R(text, 5);
    W(letters, 16);
    assert(result == 3 && letters[1] == 0xf6);
    CALL(mbstowcs(letters, text, 2));
    R(text, 2);
    W(letters, 8);
    CALL(mbstowcs(NULL, text, 0));
    R(text, 5);
    from = text;
    CALL(mbsrtowcs(letters, (const char **)&from, 32, &state));
    R(&from, 8);
    W(&from, 8);
    R(text, 5);
    W(letters, 16);
    assert(result == 3 && !from);
    from = text;
    CALL(mbsrtowcs(letters, (const char **)&from, 2, &state));
    R(&from, 8);
    W(&from, 8);
    R(text, 3);
    W(letters, 8);
    assert(result == 2 && from == text + 3);
    from = text;
    CALL(mbsrtowcs(NULL, (const char **)&from, 0, NULL));
    R(&from, 8);
    R(text, 5);
    CALL(mbsnrtowcs(letters, (const char **)&from, 2, 32, &state));
    R(&from, 8);
    W(&from, 8);
    W(letters, 4);
    R(text, 2);
    W(&state, 8);
    assert(result == 1 && from == text + 2);
    CALL(mbsnrtowcs(letters, (const char **)&from, 1, 32, &state));
    R(&from, 8);
    R(&state, 8);
    W(&from, 8);
    W(letters, 4);
    R(text + 2, 1);
    W(&state, 4);
    assert(result == 1 && letters[0] == 0xf6 && mbsinit(&state));
    CALL(mbrtowc(letters, text + 1, 5, &state));
    R(text + 1, 2);
    W(letters, 4);
    CALL(mbrtowc(letters, text + 1, 1, &state));
    R(text + 1, 1);
    /* The byte that is pending is the one that was so before. */
    W(&state, 4);
    assert(result == -2);
    CALL(mbrtowc(letters, text + 2, 1, &state));
    R(&state, 8);
    R(text + 2, 1);
    W(letters, 4);
    W(&state, 4);
    CALL(mbrtowc(letters, "", 1, &state));
    R("", 1);
    W(letters, 4);
    CALL(mbrlen(text + 1, 5, &state));
    R(text + 1, 2);
    CALL(mbtowc(letters, text + 1, 5));
    R(text + 1, 2);
    W(letters, 4);
    CALL(mblen(text + 1, 5));
    R(text + 1, 2);
    CALL(mbtowc(letters, NULL, 5));
    wcscpy(letters, L"a\u20acb");
    CALL(wcstombs(back, letters, 32));
    R(letters, 16);
    W(back, 6);
    CALL(wcstombs(back, letters, 5));
    R(letters, 12);
    W(back, 5);
    CALL(wcstombs(back, letters, 3));
    R(letters, 8);
    W(back, 1);
    assert(result == 1);
    CALL(wcstombs(NULL, letters, 0));
    R(letters, 16);
    of = letters;
    CALL(wcsrtombs(back, (const wchar_t **)&of, 32, &state));
    R(&of, 8);
    W(&of, 8);
    R(letters, 16);
    W(back, 6);
    of = letters;
    CALL(wcsrtombs(back, (const wchar_t **)&of, 4, NULL));
    R(&of, 8);
    W(&of, 8);
    R(letters, 8);
    W(back, 4);
    of = letters;
    CALL(wcsnrtombs(back, (const wchar_t **)&of, 2, 32, &state));
    R(&of, 8);
    W(&of, 8);
    R(letters, 8);
    W(back, 4);
    CALL(wcrtomb(back, 0x20ac, &state));
    W(back, 3);
    CALL(wctomb(back, 0x20ac));
    W(back, 3);
    CALL(wctomb(NULL, 0x20ac));

    iconv_t latin = iconv_open("UTF-8", "ISO-8859-1");
    char given[] = "\366xyz", made[16], *in = given, *out = made;
    size_t left = 4, room = 4;
    CALL(iconv(latin, &in, &left, &out, &room));
    assert(result == -1 && errno == E2BIG && left == 1 && room == 0);
    R(&in, 8);
    R(&left, 8);
    R(&out, 8);
    R(&room, 8);
    R(given, 3);
    W(made, 4);
    W(&in, 8);
    W(&left, 8);
    W(&out, 8);
    W(&room, 8);
    CALL(iconv(latin, NULL, NULL, NULL, NULL));
    iconv_close(latin);
}

static void files(void)
{
    long result;
    struct statfs system;
    struct statvfs portable;
    int file = open("/", 0);
    CALL(statfs("/", &system));
    reads_text("/");
    W(&system, sizeof system);
    CALL(fstatfs(file, &system));
    W(&system, sizeof system);
    CALL(statvfs("/", &portable));
    reads_text("/");
    W(&portable, 88);
    CALL(fstatvfs(file, &portable));
    W(&portable, 88);
    CALL(statfs("/nowhere", &system));
    reads_text("/nowhere");
    close(file);
    DIR *folder = opendir("/");
    struct dirent *entry = malloc(sizeof *entry + 256), *is_entry;
    CALL(readdir_r(folder, entry, &is_entry));
    W(entry, offsetof(struct dirent, d_name));
    writes_text(entry->d_name);
    W(&is_entry, 8);
    free(entry);
    closedir(folder);
    regex_t expression;
    regmatch_t places[3];
    char text[64] = "xxabbb";
    CALL(regcomp(&expression, "a(b*)", REG_EXTENDED));
    reads_text("a(b*)");
    W(&expression, 56);
    assert(expression.re_nsub == 1);
    CALL(regexec(&expression, text, 3, places, 0));
    reads_text(text);
    W(places, sizeof places);
    assert(result == 0 && places[1].rm_so == 3 && places[2].rm_so == -1);
    CALL(regexec(&expression, "c", 3, places, 0));
    reads_text("c");
    regfree(&expression);
    assert(regcomp(&expression, "a", REG_NOSUB) == 0);
    CALL(regexec(&expression, text, 3, places, 0));
    reads_text(text);
    assert(result == 0);
    regfree(&expression);
    CALL(regerror(REG_BADPAT, NULL, text, 5));
    W(text, 5);
    CALL(regerror(REG_BADPAT, NULL, NULL, 0));
    CALL(confstr(_CS_PATH, text, 64));
    W(text, result);
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, NULL) == 0) {
        struct termios terminal;
        struct winsize size;
        int there = master, end = slave, number = 1;
        CALL(ioctl(end, TIOCGWINSZ, &size));
        W(&size, 8);
        CALL(ioctl(end, FIONBIO, &number));
        R(&number, 4);
        CALL(ioctl(end, FIONREAD, &number));
        W(&number, 4);
        CALL(ioctl(end, TIOCNOTTY, &number));
        CALL(tcgetattr(end, &terminal));
        W(&terminal, 49);
        W(&terminal.c_ispeed, 8);
        CALL(ptsname_r(there, text, 64));
        writes_text(text);
        CALL(ttyname_r(end, text, 64));
        if (result == 0)
            writes_text(text);
        close(master);
        close(slave);
    }
}

static void *nothing(void *unused)
{
    return unused;
}

/* What the headers make of calls in a program that is built with _FORTIFY_SOURCE: the room comes last, or first. */
char *__stpncpy_chk(char *to, const char *from, size_t len, size_t room);
char *__strncat_chk(char *to, const char *from, size_t most, size_t room);
void __explicit_bzero_chk(void *to, size_t len, size_t room);
int __snprintf_chk(char *to, size_t most, int flag, size_t room, const char *format, ...);
int __asprintf_chk(char **to, int flag, const char *format, ...);
int __dprintf_chk(int to, int flag, const char *format, ...);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *from);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *from);
char *__fgets_unlocked_chk(char *to, size_t room, int size, FILE *from);
ssize_t __pread_chk(int file, void *to, size_t len, off_t at, size_t room);
ssize_t __pread64_chk(int file, void *to, size_t len, off_t at, size_t room);
ssize_t __recvfrom_chk(int file, void *to, size_t len, size_t room, int flags, struct sockaddr *from, socklen_t *from_len);
int __poll_chk(struct pollfd *files, nfds_t count, int limit, size_t room);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask, size_t room);
ssize_t __readlink_chk(const char *path, char *to, size_t len, size_t room);
ssize_t __readlinkat_chk(int folder, const char *path, char *to, size_t len, size_t room);
char *__realpath_chk(const char *path, char *to, size_t room);
char *__getcwd_chk(char *to, size_t len, size_t room);
int __gethostname_chk(char *to, size_t len, size_t room);
size_t __confstr_chk(int name, char *to, size_t len, size_t room);
int __ptsname_r_chk(int file, char *to, size_t len, size_t room);
int __ttyname_r_chk(int file, char *to, size_t len, size_t room);
int __getgroups_chk(int most, gid_t *to, size_t room);

static void checked(void)
{
    long result;
    static char text[PATH_MAX], other[PATH_MAX];
    char *made;
    strcpy(other, "ab");
    CALL(__stpncpy_chk(text, other, 4, sizeof text));
    R(other, 3);
    W(text, 4);
    strcpy(other, "cdef");
    CALL(__strncat_chk(text, other, 2, sizeof text));
    R(other, 2);
    R(text, 3);
    W(text + 2, 3);
    assert(strcmp(text, "abcd") == 0);
    CALL((__explicit_bzero_chk(text, 4, sizeof text), 0));
    W(text, 4);
    strcpy(other, "xyz");
    CALL(__snprintf_chk(text, 3, 1, sizeof text, "%s", other));
    R(other, 4);
    W(text, 3);
    CALL(__asprintf_chk(&made, 1, "%s", other));
    R(other, 4);
    W(&made, 8);
    writes_text(made);
    CALL(__dprintf_chk(2, 1, "%s", other + 3));
    R(other + 3, 1);

    FILE *stream = fopen("/etc/passwd", "r");
    CALL(__fread_chk(text, sizeof text, 2, 3, stream));
    W(text, 6);
    CALL(__fread_unlocked_chk(text, sizeof text, 1, 3, stream));
    W(text, 3);
    CALL(__fgets_unlocked_chk(text, sizeof text, 2, stream));
    W(text, 2);
    int file = fileno(stream);
    CALL(__pread_chk(file, text, 5, 0, sizeof text));
    W(text, 5);
    CALL(__pread64_chk(file, text, 6, 0, sizeof text));
    W(text, 6);
    struct iovec parts[2] = {{text, 3}, {other, 4}};
    CALL(preadv(file, parts, 2, 0));
    R(parts, sizeof parts);
    W(text, 3);
    W(other, 4);
    CALL(preadv64(file, parts, 1, 0));
    R(parts, sizeof *parts);
    W(text, 3);
    fclose(stream);
    stream = tmpfile();
    CALL(pwritev(fileno(stream), parts, 2, 0));
    R(parts, sizeof parts);
    R(text, 3);
    R(other, 4);
    assert(result == 7);
    CALL(pwritev64(fileno(stream), parts, 1, 0));
    R(parts, sizeof *parts);
    R(text, 3);
    fclose(stream);

    int ends[2];
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "123", 3) == 3);
    struct pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
    CALL(__poll_chk(polled, 2, -1, sizeof polled));
    R(polled, sizeof polled);
    W(&polled[0].revents, 2);
    W(&polled[1].revents, 2);
    assert(result == 1);
    CALL(__ppoll_chk(polled, 1, NULL, NULL, sizeof polled));
    R(polled, sizeof *polled);
    W(&polled[0].revents, 2);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    CALL(pselect(ends[0] + 1, &set, NULL, NULL, NULL, NULL));
    R(&set, 8);
    W(&set, 8);
    assert(result == 1);
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event);
    CALL(epoll_pwait2(poll, &event, 1, NULL, NULL));
    W(&event, sizeof event);
    int end = ends[0];
    CALL(__recvfrom_chk(end, text, 2, sizeof text, 0, NULL, NULL));
    W(text, 2);
    close(poll);
    close(ends[0]);
    close(ends[1]);

    strcpy(other, "/proc/self/cwd");
    CALL(__readlink_chk(other, text, sizeof text, sizeof text));
    reads_text(other);
    W(text, result);
    CALL(__readlinkat_chk(AT_FDCWD, other, text, sizeof text, sizeof text));
    reads_text(other);
    W(text, result);
    strcpy(other, "/usr/./lib/..");
    CALL(__realpath_chk(other, text, sizeof text));
    reads_text(other);
    writes_text(text);
    CALL(realpath(other, text));
    reads_text(other);
    writes_text(text);
    assert(strcmp(text, "/usr") == 0);
    CALL(__getcwd_chk(text, sizeof text, sizeof text));
    writes_text(text);
    CALL(__gethostname_chk(text, sizeof text, sizeof text));
    writes_text(text);
    CALL(__confstr_chk(_CS_PATH, text, sizeof text, sizeof text));
    writes_text(text);
    gid_t groups[64];
    CALL(__getgroups_chk(64, groups, sizeof groups));
    W(groups, result * sizeof *groups);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    CALL(__ptsname_r_chk(terminal, text, sizeof text, sizeof text));
    writes_text(text);
    CALL(__ttyname_r_chk(terminal, text, sizeof text, sizeof text));
    if (result == 0)
        writes_text(text);
    close(terminal);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    printf("%zu\n", (size_t)&at);
    numbers();
    dates();
    users();
    hosts();
    wide();
    encodings();
    files();
    checked();
    return 0;
}
