// Plays each asciicast that a page links to, in place of the paragraph's link. The player itself is loaded only then.
'use strict'
;(() => {
  const links = document.querySelectorAll('main a[href$=".cast"]')
  if (links.length === 0) return
  const folder = new URL(`${path_to_root}player/`, document.baseURI)
  const style = document.createElement('link')
  style.rel = 'stylesheet'
  style.href = new URL('asciinema-player.css', folder)
  const script = document.createElement('script')
  script.src = new URL('asciinema-player.min.js', folder)
  script.onload = () => {
    for (const link of links) {
      const place = document.createElement('div')
      place.className = 'cast'
      link.closest('p').after(place)
      AsciinemaPlayer.create(link.href, place, { fit: 'width', poster: 'npt:0:03' })
    }
  }
  document.head.append(style, script)
})()
