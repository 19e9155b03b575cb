# Untried: written by Homebrew's documentation; the addresses are placeholders. `formula.sh` fills in version and checksums
# of a release.
class Ctx < Formula
  desc "Shows and edits the context that coding agents send to their models"
  homepage "https://context-composer.example"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  on_linux do
    on_intel do
      url "https://context-composer.example/releases/v{version}/ctx-{version}-x86_64-linux.tar.gz"
      sha256 "{sha256-x86_64-linux}"
    end
    on_arm do
      url "https://context-composer.example/releases/v{version}/ctx-{version}-aarch64-linux.tar.gz"
      sha256 "{sha256-aarch64-linux}"
    end
  end

  on_macos do
    on_intel do
      url "https://context-composer.example/releases/v{version}/ctx-{version}-x86_64-macos.tar.gz"
      sha256 "{sha256-x86_64-macos}"
    end
    on_arm do
      url "https://context-composer.example/releases/v{version}/ctx-{version}-aarch64-macos.tar.gz"
      sha256 "{sha256-aarch64-macos}"
    end
  end

  def install
    bin.install "bin/ctx"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/ctx"
    zsh_completion.install "share/zsh/site-functions/_ctx"
    fish_completion.install "share/fish/vendor_completions.d/ctx.fish"
    doc.install Dir["share/doc/context-composer/*"]
  end

  service do
    run [opt_bin/"ctx", "up", "--service"]
    keep_alive successful_exit: false
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ctx --version")
    assert_match "t16", shell_output("#{bin}/ctx demo -- #{bin}/ctx list")
  end
end
