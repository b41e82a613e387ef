import torch
import torch.nn as nn
import torch.nn.functional as F

CHARACTERS = "-0123456789abcd"
HEIGHT, WIDTH, LABEL_LENGTH = 16, 48, 4


class CaptchaSequence:
    def __init__(self, seed):
        self.glyphs = torch.rand(14, HEIGHT, 10, generator=torch.Generator().manual_seed(0)).round()
        self.generator = torch.Generator().manual_seed(seed)

    def batch(self, size):
        labels = torch.randint(1, 15, (size, LABEL_LENGTH), generator=self.generator)
        images = 0.3 * torch.rand(size, 1, HEIGHT, WIDTH, generator=self.generator)
        for i in range(LABEL_LENGTH):
            images[:, 0, :, 12 * i + 1 : 12 * i + 11] += self.glyphs[labels[:, i] - 1]
        return images, labels


class Model(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 48, 3, padding=1),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.MaxPool2d((2, 1)),
        )
        self.lstm = nn.LSTM(48 * HEIGHT // 8, 48, bidirectional=True)
        self.fc = nn.Linear(96, n_classes)

    def forward(self, x):
        x = self.cnn(x).flatten(1, 2).permute(2, 0, 1)
        return self.fc(self.lstm(x)[0])


def decode(sequence):
    text = "".join(CHARACTERS[i] for i in sequence)
    kept = [c for i, c in enumerate(text) if c != "-" and (i == 0 or c != text[i - 1])]
    return "".join(kept)


def accuracy(model, data):
    model.eval()
    images, labels = data.batch(200)
    with torch.no_grad():
        best = model(images).argmax(-1).T.tolist()
    truth = ["".join(CHARACTERS[i] for i in label) for label in labels.tolist()]
    return sum(decode(b) == t for b, t in zip(best, truth)) / len(truth)


def main():
    torch.manual_seed(0)
    model = Model(len(CHARACTERS))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, amsgrad=True)
    train, valid = CaptchaSequence(seed=1), CaptchaSequence(seed=2)
    for epoch in range(8):
        model.train()
        total = 0.0
        for _ in range(20):
            images, labels = train.batch(32)
            log_probs = F.log_softmax(model(images), -1)
            input_lengths = torch.full((32,), log_probs.shape[0])
            target_lengths = torch.full((32,), LABEL_LENGTH)
            loss = F.ctc_loss(log_probs, labels, input_lengths, target_lengths)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(
            f"epoch {epoch}: output length {len(log_probs)}  loss {total / 20:.4f}  acc {accuracy(model, valid):.3f}"
        )


if __name__ == "__main__":
    main()
