import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
VOCAB, BOS, EOS, PAD, STEPS = 14, 0, 1, 2, 9


def sequence_mask(X, valid_len, value=0):
    maxlen = X.size(1)
    mask = torch.arange(maxlen)[None, :] < valid_len[:, None]
    X[~mask] = value
    return X


class MaskedSoftmaxCELoss(nn.CrossEntropyLoss):
    def forward(self, pred, label, valid_len):
        weights = torch.ones_like(label)
        weights = sequence_mask(weights, valid_len)
        self.reduction = 'none'
        unweighted_loss = super().forward(pred.permute(0, 2, 1), label)
        weighted_loss = (unweighted_loss * weights).sum(dim=1)
        return weighted_loss


class Seq2Seq(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.src_emb = nn.Embedding(VOCAB, dim)
        self.tgt_emb = nn.Embedding(VOCAB, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(2 * dim, dim, batch_first=True)
        self.dense = nn.Linear(dim, VOCAB)

    def forward(self, src, dec_input):
        _, state = self.encoder(self.src_emb(src))
        context = state[-1][:, None].repeat(1, dec_input.size(1), 1)
        out, _ = self.decoder(torch.cat([self.tgt_emb(dec_input), context], -1), state)
        return self.dense(out)


def make_data(n):
    src = torch.full((n, STEPS), PAD)
    tgt = torch.full((n, STEPS), PAD)
    lens = torch.randint(2, 5, (n,))
    for i, l in enumerate(lens.tolist()):
        words = torch.randint(3, VOCAB, (l,))
        src[i, :l] = words
        tgt[i, :l] = words.flip(0)
        tgt[i, l] = EOS
    return src, tgt, lens + 1


def train_seq2seq(net, data, lr, num_epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    loss = MaskedSoftmaxCELoss()
    src, tgt, valid_len = data
    for epoch in range(num_epochs):
        total, tokens = 0.0, 0
        for idx in torch.randperm(len(src)).split(64):
            optimizer.zero_grad()
            X, Y, Y_valid_len = src[idx], tgt[idx], valid_len[idx]
            bos = torch.full((len(idx), 1), BOS)
            dec_input = torch.cat([bos, Y[:, :-1]], 1)
            Y_hat = net(X, dec_input)
            l = loss(Y_hat, Y, Y_valid_len)
            l.sum().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1)
            num_tokens = Y_valid_len.sum()
            optimizer.step()
            with torch.no_grad():
                total += l.sum().item()
                tokens += num_tokens.item()
        if epoch % 2 == 0:
            print(f'epoch {epoch} loss per token {total / tokens:.3f}')


net = Seq2Seq()
train_seq2seq(net, make_data(1024), 0.004, 9)
src, tgt, valid_len = make_data(256)
with torch.no_grad():
    bos = torch.full((256, 1), BOS)
    pred = net(src, torch.cat([bos, tgt[:, :-1]], 1))
    keep = torch.arange(STEPS)[None] < valid_len[:, None]
    ppl = nn.functional.cross_entropy(pred[keep], tgt[keep]).exp()
    print(f'test perplexity {ppl:.2f} accuracy {(pred.argmax(-1) == tgt)[keep].float().mean():.3f}')
