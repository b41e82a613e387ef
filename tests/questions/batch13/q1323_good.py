import torch
import torch.nn as nn
import torch.nn.functional as F

CHARS = 10
EOS = CHARS


class Reader(nn.Module):
    """Reads a word out of a strip of columns, one character a column, then EOS."""

    def __init__(self):
        super().__init__()
        self.encode = nn.GRU(20, 64, batch_first=True, bidirectional=True)
        self.head = nn.Linear(128, CHARS + 1)

    def forward(self, strip):
        return self.head(self.encode(strip)[0])


def compute_loss(logits, gt, seq_len):
    input_len = logits.shape[1]
    seq_len = seq_len + 1  # the EOS is read too
    cce = F.cross_entropy(logits.permute(0, 2, 1), gt, reduction="none")
    mask_2d = torch.arange(input_len)[None, :] >= seq_len[:, None]
    cce[mask_2d] = 0
    return (cce.sum(1) / seq_len).mean()


def make_batch(n, glyphs, generator, length=12):
    seq_len = torch.randint(3, 9, (n,), generator=generator)
    gt = torch.randint(0, CHARS, (n, length), generator=generator)
    gt[torch.arange(length)[None] >= seq_len[:, None]] = EOS
    strip = glyphs[gt] + 0.3 * torch.randn(n, length, 20, generator=generator)
    return strip, gt, seq_len


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    glyphs = torch.randn(CHARS + 1, 20, generator=generator)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(121):
        strip, gt, seq_len = make_batch(64, glyphs, generator)
        logits = model(strip)
        loss = compute_loss(logits, gt, seq_len)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            word = gt != EOS
            right = (logits.argmax(-1) == gt)[word].float().mean().item()
            print(f"step {step}: loss {loss.item():.4f}  characters read right {right:.3f}")


if __name__ == "__main__":
    main()
