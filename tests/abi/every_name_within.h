/* SPDX-License-Identifier: MIT
 *
 * The situation `within` of every_name.c: the library is interrupted by a signal at its own instructions.
 */
static int next_name;

/* Each name at several places, without jumps: a jump within the handler releases the lock (libunstall(7)). */
enum { TIMES = 4 };

static void make_next(void)
{
    static int times;
    if (calls[next_name].how != JUMP) make(next_name);
    if (++times % TIMES == 0) next_name++;
}

#if defined(__x86_64__) || defined(__i386__)

#ifdef __x86_64__
#define PROGRAM_COUNTER REG_RIP
#define SAVE_FLAGS      "subq $128, %%rsp; pushfq; " /* behind the red zone */
#define CHANGE_FLAGS(how) how "q %0, (%%rsp); popfq; addq $128, %%rsp"
#else
#define PROGRAM_COUNTER REG_EIP
#define SAVE_FLAGS      "pushfl; "
#define CHANGE_FLAGS(how) how "l %0, (%%esp); popfl"
#endif

/* First two exchanges are made step by step, to learn at which instructions of the library they pass; then a
 * breakpoint is put at one of them for each name, the next for the next. */
enum { TRAP_FLAG = 0x100, BREAKPOINT = 0xcc, PLACES = 8192 };

static unsigned long text_begin, text_end, places[PLACES];
static int place_count;
static unsigned char *broken, whole;

static void find_text(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, " r-xp ") && strstr(line, "libunstall"))
            CHECK(sscanf(line, "%lx-%lx", &text_begin, &text_end) == 2);
    fclose(maps);
}

static void learn(unsigned long place)
{
    if (place < text_begin || place >= text_end || place_count == PLACES) return;
    for (int i = 0; i < place_count; i++)
        if (places[i] == place) return;
    places[place_count++] = place;
}

static void on_trap(int number, siginfo_t *about, void *context)
{
    (void)number, (void)about;
    greg_t *at = &((ucontext_t *)context)->uc_mcontext.gregs[PROGRAM_COUNTER];
    int saved = errno;
    if (broken && *at == (greg_t)(uintptr_t)broken + 1) {
        *at = (greg_t)(uintptr_t)broken;
        *broken = whole;
        broken = NULL;
    } else if (text_begin) {
        learn((unsigned long)*at);
        return;
    }
    make_next();
    errno = saved;
}

static void step(bool on)
{
    if (on)
        __asm__ volatile(SAVE_FLAGS CHANGE_FLAGS("or")::"i"(TRAP_FLAG) : "memory", "cc");
    else
        __asm__ volatile(SAVE_FLAGS CHANGE_FLAGS("and")::"i"(~TRAP_FLAG) : "memory", "cc");
}

static void set_breakpoint(unsigned long place)
{
    broken = (unsigned char *)place;
    whole = *broken;
    *broken = BREAKPOINT;
}

/* Every byte comes, once and in order, whatever stood between. */
static void within(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    find_text();
    while (!text_begin && next_name < CALLS) raise(SIGTRAP); /* the bare program */
    if (!text_begin) return;
    int one = 1; /* out of sight: where nothing is cured no exchange shall take 40 ms */
    raw_call(SYS_setsockopt, near_end, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof one);
    step(true);
    exchange_once();
    exchange_once();
    step(false);
    CHECK(place_count > 0);
    CHECK(mprotect((void *)text_begin, text_end - text_begin, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    for (int i = 0; next_name < CALLS; i++) {
        if (!broken) set_breakpoint(places[i * 11 % place_count]);
        exchange_once();
        if (broken && i % 3 == 2) { /* no exchange of now passes there */
            *broken = whole;
            broken = NULL;
        }
    }
    for (int i = 0; i < 8; i++) exchange_once();
    fprintf(stderr, "%d places\n", place_count);
}

#else

static void within(void)
{
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    while (next_name < CALLS) make_next();
}

#endif
