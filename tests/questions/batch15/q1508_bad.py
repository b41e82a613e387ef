import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, VOCAB = 0, 1, 16


class SoftDotAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear_in = nn.Linear(dim, dim, bias=False)
        self.linear_out = nn.Linear(dim * 2, dim, bias=False)

    def forward(self, hidden, context, mask=None):
        attn = torch.bmm(context, self.linear_in(hidden).unsqueeze(2)).squeeze(2)
        attn = F.softmax(attn, dim=1)
        weighted = torch.bmm(attn.unsqueeze(1), context).squeeze(1)
        return torch.tanh(self.linear_out(torch.cat([weighted, hidden], dim=1))), attn


class Seq2SeqAttention(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.src_embedding = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.trg_embedding = nn.Embedding(VOCAB, dim)
        self.encoder = nn.LSTM(dim, dim, batch_first=True)
        self.decoder = nn.LSTMCell(dim, dim)
        self.attention = SoftDotAttention(dim)
        self.decoder2vocab = nn.Linear(dim, VOCAB)

    def forward(self, input_src, input_trg, ctx_mask=None):
        ctx, _ = self.encoder(self.src_embedding(input_src))
        h = c = ctx.new_zeros(len(input_src), ctx.shape[2])
        logits, attentions = [], []
        for t in range(input_trg.shape[1]):
            h, c = self.decoder(self.trg_embedding(input_trg[:, t]), (h, c))
            h_tilde, attn = self.attention(h, ctx, ctx_mask)
            logits.append(self.decoder2vocab(h_tilde))
            attentions.append(attn)
        return torch.stack(logits, dim=1), torch.stack(attentions, dim=1)


def make_sentence(longest):
    length = int(torch.randint(3, longest + 1, ()))
    words = 2 + torch.randperm(VOCAB - 2)[:length]
    return words, words.sort().values[:3]


def get_minibatch(sentences, pad_to=0):
    longest = max(pad_to, max(len(s) for s, _ in sentences))
    src = torch.full((len(sentences), longest), PAD)
    for row, (s, _) in zip(src, sentences):
        row[: len(s)] = s
    trg = torch.stack([t for _, t in sentences])
    input_trg = torch.cat([torch.full((len(trg), 1), BOS), trg[:, :-1]], dim=1)
    return src, input_trg, trg, src != PAD


def evaluate(model, sentences, pad_to):
    src, input_trg, trg, mask = get_minibatch(sentences, pad_to)
    with torch.no_grad():
        logits, attn = model(src, input_trg, mask)
    share = (attn * ~mask[:, None]).sum(2).mean().item()
    return (logits.argmax(2) == trg).float().mean().item(), share


def main():
    torch.manual_seed(0)
    model = Seq2SeqAttention()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, 321):
        src, input_trg, trg, mask = get_minibatch([make_sentence(9) for _ in range(48)])
        logits, _ = model(src, input_trg, mask)
        loss = F.cross_entropy(logits.flatten(0, 1), trg.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 64 == 0:
            print(f"step {step:3d}: loss {loss.item():.3f}")
    test = [make_sentence(5) for _ in range(300)]
    for pad_to in (5, 9, 20, 60):
        accuracy, share = evaluate(model, test, pad_to)
        print(
            f"test sentences padded to {pad_to:2d}: accuracy {accuracy:.3f}  attention after their end {share:.3f}"
        )


if __name__ == "__main__":
    main()
