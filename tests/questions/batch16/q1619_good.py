import torch
import torch.nn as nn
import torch.nn.functional as F


def pad_mask(lens, max_len):
    return (torch.arange(max_len).unsqueeze(0) < lens.unsqueeze(1)).float()


class MaskedL1(nn.Module):
    def forward(self, x, target, lens):
        max_len = target.size(2)
        mask = pad_mask(lens, max_len)
        mask = mask.unsqueeze(1).expand_as(x)
        loss = F.l1_loss(x * mask, target * mask, reduction="sum")
        return loss / mask.sum()


class ForwardTacotron(nn.Module):
    def __init__(self, num_chars, n_mels, dims=48):
        super().__init__()
        self.embedding = nn.Embedding(num_chars, dims)
        self.lstm = nn.LSTM(dims, dims, batch_first=True, bidirectional=True)
        self.lin = nn.Linear(2 * dims, n_mels)

    def forward(self, x, dur):
        x = [row.repeat_interleave(d, dim=0) for row, d in zip(self.embedding(x), dur, strict=True)]
        x = nn.utils.rnn.pad_sequence(x, batch_first=True)
        return self.lin(self.lstm(x)[0]).transpose(1, 2)


def make_corpus(n, num_chars=20, n_mels=10, longest=10):
    generator = torch.Generator().manual_seed(2)
    voice = torch.randn(num_chars, n_mels, generator=generator)
    corpus = []
    for _ in range(n):
        chars = torch.randint(1, num_chars, (int(torch.randint(3, longest + 1, (1,))),))
        dur = torch.randint(4, 8, (len(chars),))
        frames = voice[chars].repeat_interleave(dur, dim=0)
        smooth = F.avg_pool1d(frames.t().unsqueeze(0), 5, stride=1, padding=2)[0]
        corpus.append((chars, dur, smooth + 0.3 * torch.randn_like(smooth)))
    return corpus


def collate(items, padding=-11.5):
    chars = nn.utils.rnn.pad_sequence([c for c, _, _ in items], batch_first=True)
    dur = nn.utils.rnn.pad_sequence([d for _, d, _ in items], batch_first=True)
    lens = torch.tensor([m.shape[1] for _, _, m in items])
    total = int(lens.max())
    mel = torch.stack([F.pad(m, (0, total - m.shape[1]), value=padding) for _, _, m in items])
    return chars, dur, mel, lens


def main():
    torch.manual_seed(0)
    train, val = make_corpus(160), make_corpus(50)
    model, criterion = ForwardTacotron(20, 10), MaskedL1()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 10):
        for rows in torch.randperm(len(train)).split(16):
            chars, dur, mel, lens = collate([train[i] for i in rows.tolist()])
            loss = criterion(model(chars, dur), mel, lens)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if epoch % 3 == 0:
            with torch.no_grad():
                chars, dur, mel, lens = collate(val)
                val_loss = criterion(model(chars, dur), mel, lens).item()
                single = [collate([item]) for item in val]
                frames = sum((model(c, d) - m).abs().sum().item() for c, d, m, _ in single)
                frames /= sum(m.numel() for _, _, m, _ in single)
            print(f"epoch {epoch:2d}: val loss in one batch {val_loss:.4f}  val loss one by one {frames:.4f}")


if __name__ == "__main__":
    main()
