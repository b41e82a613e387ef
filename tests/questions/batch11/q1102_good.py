import torch
import torch.nn as nn

torch.manual_seed(3)
VOCAB, EMB, HID, TRUNC = 24, 16, 32, 8


class RNNDecoderState:
    def __init__(self, rnnstate):
        self.hidden = rnnstate

    def update_state(self, rnnstate):
        self.hidden = rnnstate

    def detach(self):
        self.hidden = tuple(h.detach() for h in self.hidden)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, EMB)
        self.rnn = nn.LSTM(EMB, HID)
        self.generator = nn.Linear(HID, VOCAB)

    def init_state(self, batch_size):
        zeros = torch.zeros(1, batch_size, HID)
        return RNNDecoderState((zeros, zeros.clone()))

    def forward(self, tgt, state):
        out, hidden = self.rnn(self.embeddings(tgt), state.hidden)
        state.update_state(hidden)
        return self.generator(out), state


def make_batch(batch_size=16, length=33):
    start = torch.randint(0, VOCAB, (1, batch_size))
    steps = torch.arange(length).unsqueeze(1)
    return (start + 5 * steps) % VOCAB


class Trainer:
    def __init__(self, model, optim):
        self.model, self.optim = model, optim
        self.criterion = nn.CrossEntropyLoss()

    def train_batch(self, target):
        total = 0.0
        dec_state = self.model.init_state(target.size(1))
        for j in range(0, target.size(0) - 1, TRUNC):
            tgt = target[j : j + TRUNC + 1]
            self.optim.zero_grad()
            scores, dec_state = self.model(tgt[:-1], dec_state)
            loss = self.criterion(scores.flatten(0, 1), tgt[1:].flatten())
            loss.backward()
            self.optim.step()
            total += loss.item()
            dec_state.detach()
        return total


model = Decoder()
trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=5e-3))
for step in range(30):
    loss = trainer.train_batch(make_batch())
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss:.3f}")
