
# Ids come from the running daemon.
_ctx_with_ids() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" kind=
    _ctx "$@"
    case "${prev}" in
        --conv) kind=conversations ;;
        --at | --expect) kind=commits ;;
        --after) kind=frames ;;
        -*) ;;
        *) [[ "${cur}" == -* ]] || case "${COMP_WORDS[1]}" in
            {frames}) kind=frames ;;
            {commits}) kind=commits ;;
        esac ;;
    esac
    [[ -z "${kind}" ]] && return 0
    COMPREPLY=($(compgen -W "$(ctx completions --ids "${kind}" 2>/dev/null | cut -f 1)" -- "${cur}"))
}
complete -F _ctx_with_ids -o bashdefault -o default ctx
