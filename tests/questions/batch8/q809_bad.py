import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

TIME, FREQ = 24, 16


class AudioStream(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, channels, 3, padding=1)

    def forward(self, spec):
        return F.relu(self.conv2(F.relu(self.conv1(spec))))


class Separator(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio = AudioStream()
        self.fc1 = nn.Linear(8 * FREQ, 64)
        self.fc2 = nn.Linear(64, FREQ)

    def forward(self, spec):
        output_layer = self.audio(spec)
        batch_size, _, height, _ = output_layer.shape
        output_layer = output_layer.view(batch_size, height, -1)
        mask = torch.sigmoid(self.fc2(F.relu(self.fc1(output_layer))))
        return mask


def make_batch(profiles, n=32):
    who = torch.randint(0, 2, (n, TIME))
    loud = 0.5 + torch.rand(n, TIME, 1)
    voice = loud * profiles[who]
    noise = torch.rand(n, TIME, FREQ) * (torch.rand(n, TIME, 1) < 0.5)
    mix = voice + noise
    return mix.unsqueeze(1), voice / (mix + 1e-3), voice, mix


def main():
    profiles = torch.rand(2, FREQ) ** 3
    model = Separator()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, 401):
        spec, ideal, voice, mix = make_batch(profiles)
        mask = model(spec)
        loss = F.mse_loss(mask, ideal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            error = F.l1_loss(mask * mix, voice).item()
            print(f"step {step}: mask loss {loss.item():.4f} error of the separated voice {error:.4f}")


if __name__ == "__main__":
    main()
