import torch
import torch.nn as nn


class Spectrogram(nn.Module):
    def __init__(self, n_fft=64, hop=32):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        stft = torch.stft(wav, self.n_fft, self.hop, window=self.window, center=False, return_complex=True)
        norm_sq = torch.view_as_real(stft).pow(2).sum(-1)
        return norm_sq.sqrt()


class AudioTagger(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.preemphasis = nn.Conv1d(1, 1, 5, padding=2, bias=False)
        self.spectrogram = Spectrogram()
        self.rnn = nn.GRU(33, 32, batch_first=True)
        self.fc = nn.Linear(32, classes)

    def forward(self, wav):
        wav = self.preemphasis(wav.unsqueeze(1)).squeeze(1)
        features = torch.log1p(self.spectrogram(wav)).transpose(1, 2)
        return self.fc(self.rnn(features)[0].mean(dim=1))


def make_clips(n, length=1024, silent=0.02, classes=4):
    label = torch.randint(classes, (n,))
    t = torch.arange(length) / 1000
    tone = torch.sin(6.283 * (60 + 70 * label.unsqueeze(1)) * t + 6.283 * torch.rand(n, 1))
    wav = 0.5 * tone + 0.3 * torch.randn(n, length)
    quiet = torch.rand(n) < silent
    wav[quiet, 700:] = 0.0
    return wav, label


def main():
    torch.manual_seed(0)
    wav, label = make_clips(480)
    model = AudioTagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    step = 0
    for epoch in range(1, 6):
        for rows in torch.randperm(len(wav)).split(16):
            out = model(wav[rows])
            loss = nn.functional.cross_entropy(out, label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        with torch.no_grad():
            accuracy = (model(wav).argmax(dim=1) == label).float().mean().item()
        print(f"step {step:3d}: loss {loss.item():.4f}, accuracy {accuracy:.3f}")
    print("any NaN in the spectrogram of the clips themselves:", model.spectrogram(wav).isnan().any().item())


if __name__ == "__main__":
    main()
