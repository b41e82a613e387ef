import torch
from torch import nn

torch.manual_seed(0)

FRAMES, MELS = 40, 12


class Transcriber(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(MELS, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 32, 5, padding=2), nn.ReLU()
        )
        self.onset = nn.Conv1d(32, 1, 1)
        self.pitch = nn.Conv1d(32, 5, 1)

    def forward(self, mel):
        h = self.body(mel)
        return self.onset(h).squeeze(1), self.pitch(h)


def make_clip():
    mel = 0.3 * torch.randn(MELS, FRAMES)
    onset, pitch = torch.zeros(FRAMES), torch.zeros(FRAMES, dtype=torch.long)
    notes = 0 if torch.rand(()) < 0.02 else int(torch.randint(2, 5, ()))
    for _ in range(notes):
        at, note = int(torch.randint(0, FRAMES - 6, ())), int(torch.randint(1, 5, ()))
        mel[2 * note, at : at + 6] += 2.0
        mel[0, at] += 3.0
        onset[at] = 1.0
        pitch[at : at + 6] = note
    return mel, onset, pitch


def main():
    clips = [make_clip() for _ in range(200)]
    model = Transcriber()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    onset_criterion = nn.BCEWithLogitsLoss(reduction="none")
    pitch_criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        sums = [0.0, 0.0]
        for mel, onset, pitch in clips:
            onset_logits, pitch_logits = model(mel.unsqueeze(0))
            on_weight = onset * 4.0
            split_loss = onset_criterion(onset_logits, onset.unsqueeze(0))[0]
            split_train_loss0 = torch.dot(split_loss, on_weight) / (torch.sum(on_weight) + 1e-6)
            split_train_loss1 = split_loss.mean() + pitch_criterion(pitch_logits, pitch.unsqueeze(0))
            loss = split_train_loss0 + split_train_loss1
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums[0] += split_train_loss0.item()
            sums[1] += split_train_loss1.item()
        print(f"epoch {epoch}: onset {sums[0] / 200:.4f} rest {sums[1] / 200:.4f}")


if __name__ == "__main__":
    main()
