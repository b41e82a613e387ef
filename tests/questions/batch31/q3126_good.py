import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
VOCAB, STEPS, BOS = 12, 6, 0


class Seq2SeqEncoder(nn.Module):
    def __init__(self, vocab_size, embed_size, num_hiddens):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = nn.GRU(embed_size, num_hiddens)

    def forward(self, X):
        return self.rnn(self.embedding(X).permute(1, 0, 2))


class Seq2SeqDecoder(nn.Module):
    def __init__(self, vocab_size, embed_size, num_hiddens):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = nn.GRU(embed_size + num_hiddens, num_hiddens)
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def init_state(self, enc_outputs):
        return enc_outputs[1], enc_outputs[1][-1]

    def forward(self, X, state):
        X = self.embedding(X).permute(1, 0, 2)
        hidden, enc_state = state
        context = enc_state.repeat(X.shape[0], 1, 1)
        output, hidden = self.rnn(torch.cat((X, context), 2), hidden)
        return self.dense(output).permute(1, 0, 2), (hidden, enc_state)


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, enc_X, dec_X):
        return self.decoder(dec_X, self.decoder.init_state(self.encoder(enc_X)))[0]


@torch.no_grad()
def predict_seq2seq(net, src, num_steps):
    net.eval()
    dec_state = net.decoder.init_state(net.encoder(src))
    dec_X = torch.full((len(src), 1), BOS)
    output_seq = []
    for _ in range(num_steps):
        Y, dec_state = net.decoder(dec_X, dec_state)
        dec_X = Y.argmax(dim=2)
        output_seq.append(dec_X)
    return torch.cat(output_seq, 1)


def batch(n):
    src = torch.randint(1, VOCAB, (n, STEPS))
    return src, src.flip(1)


net = EncoderDecoder(Seq2SeqEncoder(VOCAB, 24, 96), Seq2SeqDecoder(VOCAB, 24, 96))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
test_src, test_tgt = batch(500)
for step in range(1, 901):
    net.train()
    src, tgt = batch(64)
    dec_input = torch.cat([torch.full((64, 1), BOS), tgt[:, :-1]], 1)
    Y_hat = net(src, dec_input)
    loss = F.cross_entropy(Y_hat.reshape(-1, VOCAB), tgt.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if step % 300 == 0:
        forced = (Y_hat.argmax(2) == tgt).float().mean().item()
        pred = predict_seq2seq(net, test_src, STEPS)
        print(f"step {step}  loss {loss.item():.4f}  train token acc {forced:.3f}"
              f"  predicted token acc {(pred == test_tgt).float().mean():.3f}")
