import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SPEAKERS, PHONES = 4, 5


class GradientReversalLayer(nn.Module):
    def forward(self, x):
        return x

    def backward(self, grad_output):
        return -grad_output


def gradient_reversal_layer(x):
    return GradientReversalLayer()(x)


class Encoder(nn.Module):
    def __init__(self, dim=24, hidden=32, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x):
        return torch.tanh(self.net(x))


class Tacotron(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Linear(8, PHONES)
        self.speaker_classifier = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, SPEAKERS))

    def forward(self, x):
        text = self.encoder(x)
        return self.decoder(text), self.speaker_classifier(gradient_reversal_layer(text))


phone_vec, speaker_vec = torch.randn(PHONES, 24), torch.randn(SPEAKERS, 24)


def make_batch(n):
    phones, speakers = torch.randint(0, PHONES, (n,)), torch.randint(0, SPEAKERS, (n,))
    return phone_vec[phones] + speaker_vec[speakers] + 0.3 * torch.randn(n, 24), phones, speakers


model = Tacotron()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for it in range(1500):
    x, phones, speakers = make_batch(128)
    out, spk = model(x)
    loss_phone = F.cross_entropy(out, phones)
    loss_spk = F.cross_entropy(spk, speakers)
    loss = loss_phone + 0.5 * loss_spk
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 300 == 299:
        acc_p = (out.argmax(1) == phones).float().mean()
        acc_s = (spk.argmax(1) == speakers).float().mean()
        print(
            f"iter {it + 1}  phone loss {loss_phone:.3f} acc {acc_p:.2f}  speaker loss {loss_spk:.3f} acc {acc_s:.2f}"
        )
