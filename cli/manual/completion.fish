# What fish completes of bm's command lines.                -*- shell-script -*-
#
# Folders and tags may have been named by others: no word of the line is
# evaluated. What goes into the line is quoted by fish.

function __bm_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l word (string unescape -- $typed)
    or set word (string unescape -- $typed\")
    or set word (string unescape -- $typed\')
    or set word $typed
    set -l program bm
    if string match -q '*/*' -- $words[1]; and test -x $words[1]
        set program $words[1]
    end
    set -l offers (command $program __complete $words[2..-1] "$word" 2>/dev/null)
    or return
    set -l directive (string sub --start 2 -- $offers[-1])
    set -e offers[-1]
    if test (math "$directive % 2") -eq 1
        return
    end
    # A flag and its value on both sides of a = are one word.
    set -l flag (string match -r -- '^-[^=]*=' "$word")
    set -l length (string length -- "$word")
    set -l found
    for offer in $offers
        if test (string sub --length $length -- "$flag$offer") = "$word"
            set -a found "$flag$offer"
        end
    end
    if test (count $found) -eq 0; and test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path "$word"
        return
    end
    # What may go on: a second offer keeps fish from ending the word.
    if test (count $found) -eq 1; and test (math "bitand($directive, 2)") -ne 0
        set found (string split --max 1 \t -- $found)[1]
        set -a found "$found."
    end
    printf '%s\n' $found
end

complete -c bm -e
complete -c bm -f -a '(__bm_complete)'
