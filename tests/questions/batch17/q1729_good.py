import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, START, END, FIRST = 0, 1, 2, 3
VOCAB, MAX_LEN = 40, 30


class Translator(nn.Module):
    def __init__(self, d_model=32):
        super().__init__()
        self.src_emb = nn.Embedding(VOCAB, d_model)
        self.tgt_emb = nn.Embedding(VOCAB, d_model)
        self.pos = nn.Embedding(MAX_LEN, d_model)
        self.transformer = nn.Transformer(d_model, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d_model, VOCAB)

    def forward(self, src, tgt):
        mask = torch.triu(torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool), 1)
        s = self.src_emb(src) + self.pos.weight[: src.shape[1]]
        t = self.tgt_emb(tgt) + self.pos.weight[: tgt.shape[1]]
        return self.out(self.transformer(s, t, tgt_mask=mask, src_key_padding_mask=src == PAD))


def make_pairs(n, dictionary):
    src = torch.full((n, MAX_LEN), PAD)
    tgt = torch.full((n, MAX_LEN), PAD)
    for i in range(n):
        length = int(torch.randint(2, 6, (1,)))
        words = torch.randint(FIRST, VOCAB, (length,))
        src[i, :length] = words
        tgt[i, : length + 2] = torch.cat([torch.tensor([START]), dictionary[words], torch.tensor([END])])
    return src, tgt


@torch.no_grad()
def evaluate(model, src, tgt):
    predicted, wanted = model(src, tgt[:, :-1]).argmax(2), tgt[:, 1:]
    words = wanted >= FIRST
    right = (predicted == wanted)[words].float().mean().item()
    return right, (predicted == PAD)[words].float().mean().item()


def main():
    torch.manual_seed(0)
    dictionary = torch.cat([torch.arange(FIRST), FIRST + torch.randperm(VOCAB - FIRST)])
    src_all, tgt_all = make_pairs(1200, dictionary)
    src_test, tgt_test = make_pairs(200, dictionary)
    model = Translator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    step = 0
    for _ in range(6):
        for rows in torch.randperm(len(src_all)).split(30):
            src, tgt = src_all[rows], tgt_all[rows]
            logits = model(src, tgt[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step in (5, 10, 20, 40, 120, 240):
                right, blank = evaluate(model, src_test, tgt_test)
                print(
                    f"step {step:3d}: loss {loss.item():.4f}, words right {right:.3f}, words given as blank {blank:.3f}"
                )


if __name__ == "__main__":
    main()
