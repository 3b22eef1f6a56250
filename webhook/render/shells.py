"""The scripts by which shells ask `evenkeel __complete`: of its last line, 2 is no space, 4 no files, 16 folders."""

from __future__ import annotations

BASH = r"""# Completes evenkeel in bash.
# Now:     source <(evenkeel completion bash)
# Always:  mkdir -p ~/.local/share/bash-completion/completions
#          evenkeel completion bash >~/.local/share/bash-completion/completions/evenkeel
_evenkeel() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word='' raw='' quote='' kept='' directive=4 i char
    # The words up to the cursor without their quotes, and what of the last stands before $2, which bash replaces.
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        case $quote$char in
            [[:space:]]) [[ -n $raw ]] && words+=("$word"); word='' raw='' char='' ;;
            [\'\"\\] | \"\\) quote+=$char ;;
            \'\' | \"\") quote='' ;;
            \"\\[\"\$\`\\]) word+=$char quote=\" ;;
            \"\\*) word+=\\$char quote=\" ;;
            \\*) word+=$char quote='' ;;
            *) word+=$char ;;
        esac
        raw+=$char
        ((i < ${#line} - ${#2})) && kept=$word
    done
    words+=("$word")
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        [[ $word == :* ]] && directive=${word#:} && continue
        word=${word#"$kept"}
        # Names are not ours: none may run a command.
        if [[ $quote == [\'\"]* ]]; then
            [[ $word == *[\'\"\`\$\\!]* ]] && continue
        elif [[ $word == *[^[:alnum:]_./:=@,+%-]* ]]; then
            printf -v word %q "$word"
        fi
        COMPREPLY+=("$word")
    done < <(evenkeel __complete "${words[@]:1}" 2>/dev/null)
    # bash 3.2 has no compopt.
    ((directive & 2)) && compopt -o nospace 2>/dev/null
    ((directive & 20)) && compopt +o default 2>/dev/null
    ((directive & 16)) && compopt -o dirnames 2>/dev/null
    return 0
}
complete -o default -F _evenkeel evenkeel
"""
ZSH = r"""#compdef evenkeel
# Completes evenkeel in zsh, after compinit.
# Now:     source <(evenkeel completion zsh)
# Always:  mkdir -p ~/.zfunc && evenkeel completion zsh >~/.zfunc/_evenkeel
#          and fpath+=~/.zfunc before compinit in ~/.zshrc
_evenkeel() {
    local line directive=4
    local -a offers space
    for line in "${(@f)$(evenkeel __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        case $line in
            :*) directive=${line#:} ;;
            *) offers+=("${${${line%%$'\t'*}//\\/\\\\}//:/\\:}${${line#${line%%$'\t'*}}/$'\t'/:}") ;;
        esac
    done
    ((directive & 2)) && space=(-S '')
    (($#offers)) && _describe -V evenkeel offers "${space[@]}"
    ((directive & 20)) || { compset -P '*='; _files }
    ((directive & 16)) && { compset -P '*='; _files -/ }
    return 0
}
if [[ $funcstack[1] == _evenkeel ]]; then _evenkeel; else compdef _evenkeel evenkeel; fi
"""
FISH = r"""# Completes evenkeel in fish.
# Now:     evenkeel completion fish | source
# Always:  mkdir -p ~/.config/fish/completions
#          evenkeel completion fish >~/.config/fish/completions/evenkeel.fish
function __evenkeel_complete
    set -l last (commandline -ct)
    set -l words (commandline -opc) (string unescape -- "$last"; or echo)
    set -l lines (evenkeel __complete $words[2..-1] 2>/dev/null)
    set -l directive (string match -r '^:\d+$' -- $lines[-1] | string sub -s 2)
    test -n "$directive"; or return
    string match -v -r '^:\d+$' -- $lines
    set -l option (string match -r '^-[^=]*=' -- "$last")
    set -l path (string replace -r '^-[^=]*=' '' -- "$last")
    if test $directive -eq 16
        printf '%s\n' "$option"(__fish_complete_directories "$path" '')
    else if test $directive -lt 4
        printf '%s\n' "$option"(__fish_complete_path "$path")
    end
end
complete -c evenkeel -f -k -a '(__evenkeel_complete)'
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
