import torch
import torch.nn as nn


class DOSE(nn.Module):
    def __init__(self, length, steps):
        super().__init__()
        self.embedding = nn.Embedding(steps, 32)
        self.net = nn.Sequential(
            nn.Linear(2 * length + 32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, length)
        )

    def forward(self, audio, t, condition):
        return self.net(torch.cat([audio, condition, self.embedding(t)], dim=1))


class DOSELearner:
    def __init__(self, model, steps, dropout):
        self.model, self.dropout = model, dropout
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.noise_level = torch.cumprod(1 - torch.linspace(1e-3, 0.15, steps), dim=0)
        self.loss_fn = nn.L1Loss()

    def train_step(self, features):
        audio = features["clean_speech"]
        noisy = features["noisy_speech"]
        audio_orig = audio.clone()
        n = audio.shape[0]
        t = torch.randint(0, len(self.noise_level), [n])
        noise_scale = self.noise_level[t].unsqueeze(1)
        noise = torch.randn_like(audio)
        masks = torch.bernoulli(torch.full((n,), self.dropout))
        for i in range(n):
            if masks[i] == 1:
                audio[i] = torch.randn_like(audio[i])
        noisy_audio = noise_scale**0.5 * audio + (1.0 - noise_scale) ** 0.5 * noise
        predicted = self.model(noisy_audio, t, noisy)
        loss = self.loss_fn(audio_orig, predicted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_speech(n, length=48):
    time = torch.arange(length) / length
    pitch = 2 + 6 * torch.rand(n, 1)
    phase = 6.283 * torch.rand(n, 1)
    clean = 1.4 * torch.sin(6.283 * pitch * time + phase)
    return clean, clean + 0.8 * torch.randn(n, length)


def enhance(model, noisy, steps):
    with torch.no_grad():
        t = torch.full((len(noisy),), steps - 1)
        return model(torch.randn_like(noisy), t, noisy)


def main():
    torch.manual_seed(0)
    steps = 30
    clean, noisy = make_speech(3000)
    test_clean, test_noisy = make_speech(400)
    learner = DOSELearner(DOSE(clean.shape[1], steps), steps, dropout=0.5)
    for epoch in range(1, 31):
        losses = []
        for rows in torch.randperm(len(clean)).split(64):
            features = {"clean_speech": clean[rows], "noisy_speech": noisy[rows]}
            losses.append(learner.train_step(features))
        if epoch % 10 == 0:
            error = (enhance(learner.model, test_noisy, steps) - test_clean).abs().mean().item()
            print(
                f"epoch {epoch:2d}: train loss {sum(losses) / len(losses):.4f}  test L1 to clean {error:.4f}"
            )
    print(f"test L1 of the noisy input itself: {(test_noisy - test_clean).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()
