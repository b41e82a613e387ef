import torch
import torch.nn as nn
import torch.nn.functional as F

HOP, FRAMES, MELS = 8, 16, 6


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Conv1d(MELS, 32, 3, padding=1)
        self.up = nn.Conv1d(32, HOP * 8, 3, padding=1)
        self.post = nn.Conv1d(8, 1, 7, padding=3)

    def forward(self, mel):
        x = self.up(F.leaky_relu(self.pre(mel), 0.2))
        x = x.view(len(mel), 8, HOP, FRAMES).transpose(2, 3).reshape(len(mel), 8, FRAMES * HOP)
        return torch.tanh(self.post(F.leaky_relu(x, 0.2)))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        channels = [1, 12, 24, 24]
        self.layers = nn.ModuleList(nn.Conv1d(i, o, 7, 2, 3) for i, o in zip(channels, channels[1:]))
        self.score = nn.Conv1d(24, 1, 3, padding=1)

    def forward(self, x):
        feats = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
            feats.append(x)
        return self.score(x), feats


class GeneratorLoss(nn.Module):
    def __init__(self, use_feat_match_loss=True, feat_match_loss_weight=10.0):
        super().__init__()
        self.use_feat_match_loss = use_feat_match_loss
        self.feat_match_loss_weight = feat_match_loss_weight

    def forward(self, scores_fake, feats_fake=None, feats_real=None):
        loss = F.mse_loss(scores_fake, torch.ones_like(scores_fake))
        return_dict = {"G_mse_fake_loss": loss.item()}
        if self.use_feat_match_loss and not feats_fake:
            pairs = zip(feats_fake, feats_real)
            feat_match_loss = torch.stack([F.l1_loss(f, r.detach()) for f, r in pairs]).mean()
            return_dict["G_feat_match_loss"] = feat_match_loss.item()
            loss = loss + self.feat_match_loss_weight * feat_match_loss
        return loss, return_dict


def make_batch(n, generator):
    t = torch.arange(FRAMES * HOP) / 16000 * 600
    freq = 0.5 + 1.5 * torch.rand(n, 1, generator=generator)
    loud = 0.3 + 0.5 * torch.rand(n, 1, generator=generator)
    wav = (loud * torch.sin(6.283 * freq * t)).unsqueeze(1)
    mel = torch.stack([freq, loud, freq**2, freq * loud], 1).expand(n, MELS - 2, FRAMES)
    clock = torch.stack([torch.sin(6.283 * freq * t[::HOP]), torch.cos(6.283 * freq * t[::HOP])], 1)
    return torch.cat([mel, clock], 1), wav


def main():
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(1)
    model_G, model_D = Generator(), Discriminator()
    optimizer_G = torch.optim.Adam(model_G.parameters(), lr=2e-3, betas=(0.5, 0.9))
    optimizer_D = torch.optim.Adam(model_D.parameters(), lr=1e-3, betas=(0.5, 0.9))
    criterion_G = GeneratorLoss()
    mel_test, wav_test = make_batch(200, rng)
    for step in range(120):
        mel, wav = make_batch(8, rng)
        wav_fake = model_G(mel)
        scores_real, _ = model_D(wav)
        scores_fake, _ = model_D(wav_fake.detach())
        loss_D = (scores_real - 1).pow(2).mean() + scores_fake.pow(2).mean()
        optimizer_D.zero_grad()
        loss_D.backward()
        optimizer_D.step()
        _, feats_real = model_D(wav)
        scores_fake, feats_fake = model_D(wav_fake)
        loss_G, losses = criterion_G(scores_fake, feats_fake, feats_real)
        optimizer_G.zero_grad()
        loss_G.backward()
        optimizer_G.step()
        if step % 30 == 29:
            with torch.no_grad():
                error = F.l1_loss(model_G(mel_test), wav_test).item()
            logs = " ".join(f"{name} {value:.3f}" for name, value in losses.items())
            print(f"step {step}: D {loss_D.item():.3f} {logs} | error of the waveform {error:.3f}")


if __name__ == "__main__":
    main()
