import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab, max_len, hidden):
        super().__init__()
        self.words = nn.Embedding(vocab, hidden)
        self.places = nn.Embedding(max_len, hidden)

    def forward(self, src):
        return self.words(src) + self.places.weight[: src.shape[1]]


class LuongDecoder(nn.Module):
    def __init__(self, vocab, max_len, hidden):
        super().__init__()
        self.steps = nn.Embedding(max_len, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, keys):
        query = self.steps.weight[: keys.shape[1]].expand(len(keys), -1, -1)
        scores = torch.bmm(query, keys.transpose(1, 2))
        weights = F.softmax(scores, dim=2)
        return self.out(torch.bmm(weights, keys)), weights


class Seq2Seq(nn.Module):
    def __init__(self, vocab=30, max_len=12, hidden=512):
        super().__init__()
        self.encoder = Encoder(vocab, max_len, hidden)
        self.decoder = LuongDecoder(vocab, max_len, hidden)

    def forward(self, src):
        return self.decoder(self.encoder(src))


def make_sentences(n, vocab=30, length=12):
    src = torch.randint(vocab, (n, length))
    order = torch.tensor([2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10])
    return src, src[:, order]


def main():
    torch.manual_seed(0)
    src_all, tgt_all = make_sentences(1000)
    src_test, tgt_test = make_sentences(200)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 13):
        for rows in torch.randperm(len(src_all)).split(50):
            logits, _ = model(src_all[rows])
            loss = F.cross_entropy(logits.flatten(0, 1), tgt_all[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch in (1, 4, 8, 12):
            with torch.no_grad():
                logits, weights = model(src_test)
            accuracy = (logits.argmax(2) == tgt_test).float().mean().item()
            entropy = -(weights * weights.clamp(min=1e-12).log()).sum(2).mean().item()
            print(f"epoch {epoch:2d}: loss {loss.item():.4f}, test accuracy {accuracy:.3f}", end="")
            print(f", attention: largest weight {weights.max(2).values.mean():.3f}, entropy {entropy:.3f}")


if __name__ == "__main__":
    main()
