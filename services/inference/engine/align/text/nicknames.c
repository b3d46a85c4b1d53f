/* See nicknames.h: groups of given names as text, read once into a hash table from name to groups. */
#include "services/inference/engine/align/text/nicknames.h"

#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"

/* A line a group; a name may stand in four. Short forms that begin the full one ("dan", "daniel") need no
 * entry where they have three letters or more: the comparison of tokens sees those. From general
 * knowledge. */
static const char groups[] = "abigail abby gail\n"
                             "abraham abe bram\n"
                             "adelaide addie heidi\n"
                             "agnes aggie nessa\n"
                             "albert al bert bertie\n"
                             "alexander alex al alec lex sandy sasha xander\n"
                             "alexandra alex lexi sandra sasha sandy\n"
                             "alfred al fred freddie alfie\n"
                             "alice allie ali\n"
                             "andrew andy drew dru\n"
                             "angela angie\n"
                             "ann anna anne annie nan nancy\n"
                             "anthony tony\n"
                             "antonio tonio tony nino\n"
                             "archibald archie\n"
                             "arthur art artie\n"
                             "augustus gus augie\n"
                             "barbara babs barb barbie bobbie\n"
                             "bartholomew bart barry\n"
                             "beatrice bea trixie\n"
                             "benjamin ben benny\n"
                             "bernard bernie barney\n"
                             "bridget biddy bridie\n"
                             "caroline carrie carol\n"
                             "catherine katherine kathryn cathy kathy kate katie kay kit kitty\n"
                             "cecilia celia cissy\n"
                             "charles charlie chuck chas\n"
                             "charlotte charlie lottie\n"
                             "christina christine tina chris chrissy kirsten\n"
                             "christopher chris kit topher\n"
                             "clarence clare\n"
                             "cornelius neil connie\n"
                             "cynthia cindy\n"
                             "daniel danny\n"
                             "david dave davy\n"
                             "deborah debbie deb debra\n"
                             "dennis denny\n"
                             "dolores lola dolly\n"
                             "dominic dom nick\n"
                             "donald don donnie\n"
                             "dorothy dot dottie dolly dora\n"
                             "douglas doug\n"
                             "edmund ed ned ted\n"
                             "edward ed eddie ned ted teddy\n"
                             "edwin ed ned\n"
                             "eduardo lalo edu\n"
                             "eleanor ella ellie nell nellie nora lenora\n"
                             "elizabeth eliza beth betsy betty bess liz lizzie libby lisa ella elsie bette\n"
                             "emily em emmie\n"
                             "enrique kike quique\n"
                             "ernest ernie\n"
                             "eugene gene\n"
                             "eva evelyn evie\n"
                             "ferdinand ferdy fernando nando\n"
                             "florence flo flossie\n"
                             "frances fran fannie frankie francie\n"
                             "francis frank frankie fran\n"
                             "francisco paco pancho kiko paquito cisco\n"
                             "franklin frank\n"
                             "frederick fred freddie fritz rick\n"
                             "gabriel gabe\n"
                             "geoffrey jeffrey geoff jeff\n"
                             "george georgie\n"
                             "gerald gerry jerry\n"
                             "gertrude gert trudy gertie\n"
                             "giovanni gianni vanni nino\n"
                             "giuseppe beppe peppe pino\n"
                             "gregory greg\n"
                             "guillermo memo\n"
                             "gwendolyn gwen wendy\n"
                             "hannah anna nan\n"
                             "harold harry hal\n"
                             "harriet hattie harry\n"
                             "heinrich heinz heiner\n"
                             "helen ella nell nellie lena\n"
                             "henry harry hank hal\n"
                             "herbert herb bert\n"
                             "hubert bert hugh\n"
                             "ignacio nacho\n"
                             "irene rena\n"
                             "isaac ike zack\n"
                             "isabella isabel bella izzy belle ibby\n"
                             "jacob jake\n"
                             "jacqueline jackie\n"
                             "james jim jimmy jamie jem\n"
                             "jane janie jenny janet\n"
                             "jean jeanne jeannie jenny\n"
                             "jennifer jen jenny\n"
                             "jerome jerry\n"
                             "jessica jess jessie\n"
                             "jesus chuy\n"
                             "joan joanna joanne joni\n"
                             "johannes hans hannes jan\n"
                             "john jack johnny jock ian\n"
                             "jonathan jon nathan\n"
                             "jose pepe chepe\n"
                             "joseph joe joey jos\n"
                             "josephine jo josie\n"
                             "joshua josh\n"
                             "juan juanito\n"
                             "judith judy jude\n"
                             "kenneth ken kenny\n"
                             "laura laurie lori\n"
                             "lawrence laurence larry laurie\n"
                             "leonard leo len lenny\n"
                             "leopold leo poldi\n"
                             "lewis louis lou louie\n"
                             "lillian lily lil\n"
                             "louise lou lulu\n"
                             "lucille lucy lucinda lou\n"
                             "madeline maddie\n"
                             "manuel manny manolo\n"
                             "margaret maggie meg megan peg peggy greta rita madge daisy marge margie mags\n"
                             "marguerite daisy rita margot\n"
                             "martha marty mattie patty\n"
                             "martin marty\n"
                             "mary mae mamie molly polly marie maria\n"
                             "matilda mattie tilda tilly\n"
                             "matthew matt\n"
                             "maximilian max\n"
                             "michael mike mick mickey mikey\n"
                             "mildred millie\n"
                             "nathaniel nathan nate nat\n"
                             "natalie nat\n"
                             "nicholas nick nicky klaus colin\n"
                             "norbert nobby\n"
                             "oliver ollie\n"
                             "olivia liv livvy\n"
                             "pamela pam\n"
                             "patricia pat patty patsy tricia trish\n"
                             "patrick pat paddy rick\n"
                             "penelope penny\n"
                             "peter pete\n"
                             "philip phil pip\n"
                             "priscilla cilla prissy\n"
                             "prudence prue\n"
                             "rachel rae shelly\n"
                             "raymond ray\n"
                             "rebecca becky becca\n"
                             "richard dick rick ricky rich richie\n"
                             "robert bob bobby rob robbie bert robin\n"
                             "roberta bobbie robbie\n"
                             "rodney rod\n"
                             "roger rodge\n"
                             "roland rolly\n"
                             "ronald ron ronnie\n"
                             "rosalind rosa rose roz\n"
                             "rosemary rose romy\n"
                             "rudolph rudy rolf\n"
                             "rupert rupe\n"
                             "samantha sam sammy\n"
                             "samuel sam sammy\n"
                             "sarah sadie sally\n"
                             "sebastian seb bastian\n"
                             "sophia sophie\n"
                             "stephen steven steve\n"
                             "stephanie steph steffi\n"
                             "susan susanna sue susie suzy\n"
                             "sylvester sly\n"
                             "teresa theresa terry tess tessa tracy\n"
                             "terence terry\n"
                             "theodore ted teddy theo\n"
                             "theodora dora thea\n"
                             "thomas tom tommy\n"
                             "timothy tim\n"
                             "ursula uschi\n"
                             "valentine val\n"
                             "valerie val\n"
                             "veronica ronnie vera\n"
                             "victor vic\n"
                             "victoria vicky tori vic\n"
                             "vincent vince vinny\n"
                             "virginia ginny ginger\n"
                             "vivian viv\n"
                             "walter walt wally\n"
                             "wilhelm willi helmut\n"
                             "wilhelmina mina minnie willa\n"
                             "william bill billy will willie liam\n"
                             "winifred winnie freda\n"
                             "zachary zach zack\n";

enum { SLOTS = 2048 }; /* names are some 600 */

/* An open-addressing table from a name to its groups. */
struct tab_nicknames {
    struct {
        tab_str name;
        tab_nickname of;
    } slot[SLOTS];
};

/* The slot of a name, or the free one where it would stand. */
static size_t place(const tab_nicknames *n, tab_str name)
{
    size_t i = tab_hash_bytes(name.p, name.n, 9) & (SLOTS - 1);
    while (n->slot[i].name.n > 0 && !tab_str_eq(n->slot[i].name, name))
        i = (i + 1) & (SLOTS - 1);
    return i;
}

/* Reads the lines of groups into the table; a group's number is its line, from 1. */
tab_nicknames *tab_nicknames_new(void)
{
    tab_nicknames *n = calloc(1, sizeof *n);
    uint16_t group = 1;
    for (size_t at = 0; n != NULL && at + 1 < sizeof groups;) {
        /* a name ends at a blank or at the line's end */
        size_t end = at;
        while (groups[end] != ' ' && groups[end] != '\n')
            end++;
        tab_str name = { groups + at, end - at };
        size_t i = place(n, name);
        n->slot[i].name = name;
        /* the first free group of four */
        int k = 0;
        while (k + 1 < TAB_NICKNAME_GROUPS && n->slot[i].of.group[k] != 0)
            k++;
        n->slot[i].of.group[k] = group;
        group = (uint16_t)(group + (groups[end] == '\n'));
        at = end + 1;
    }
    return n;
}

void tab_nicknames_free(tab_nicknames *n)
{
    free(n);
}

/* Names have 2 to 12 letters; all others are in no group. */
tab_nickname tab_nicknames_find(const tab_nicknames *n, tab_str name)
{
    if (name.n < 2 || name.n > 12)
        return (tab_nickname){ { 0 } };
    return n->slot[place(n, name)].of;
}
